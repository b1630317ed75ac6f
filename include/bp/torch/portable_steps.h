// What an optimizer of one's own may promise to the DistributedOptimizer that wraps it.
#pragma once

#include "bp/export.h"

namespace BP_API bp {

// An optimizer derives from it if its steps on the CPU have the same bits on all processors. Steps
// of LibTorch's own optimizers round otherwise on a processor without AVX2, so a
// DistributedOptimizer refuses ranks of both kinds, except for an optimizer that derives from this
// class.
class PortableSteps {
 public:
  virtual ~PortableSteps() = default;
};

}  // namespace bp

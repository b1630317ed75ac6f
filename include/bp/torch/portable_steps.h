// Marks an optimizer of your own whose steps do not depend on the processor.
#pragma once

#include "bp/export.h"

namespace BP_API bp {

// Derive your optimizer from this class too if its steps on the CPU have the same bits on all
// processors. LibTorch's own optimizers round differently on a processor without AVX2, so a
// DistributedOptimizer refuses a job with both kinds of processors unless the optimizer derives
// from this class.
class PortableSteps {
 public:
  virtual ~PortableSteps() = default;
};

}  // namespace bp

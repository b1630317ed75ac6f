// Marks an optimizer of your own that DistributedOptimizer may give parts of parameters (Shard).
#pragma once

#include <vector>

#include "bp/export.h"

namespace at {
class Tensor;
}
namespace torch::optim {
class OptimizerParamState;
}

namespace BP_API bp {

// Derive your optimizer from this class too if what its step() does with an element of a parameter
// depends on this element, its gradient, its state, and numbers that are the same for the whole
// parameter. step() then gets, in the place of each parameter, a vector of some of its elements,
// perhaps of none, and must make the same state for it as for a whole parameter.
class Elementwise {
 public:
  virtual ~Elementwise() = default;

  [[nodiscard]] virtual bool is_elementwise() const { return true; }
  // Returns the tensors of `state`, an entry of Optimizer::state(), that have an element for each
  // of the parameter. There must always be as many, and some may be undefined. The default knows
  // the states of LibTorch's own optimizers.
  [[nodiscard]] virtual std::vector<at::Tensor*> tensors_of(
      torch::optim::OptimizerParamState& state) const;
};

}  // namespace bp

// Marks an optimizer of your own that DistributedOptimizer may give parts of parameters (Shard).
#pragma once

#include <cstddef>
#include <memory>
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

// Derive your optimizer from this class, too, if it can divide the rows of a matrix with sparse
// gradients (DistributedOptimizerOptions::sparse_gradients) between the ranks of a host. Otherwise
// each rank keeps such a matrix and its state for itself.
class RowSharing {
 public:
  virtual ~RowSharing() = default;

  // Returns how many bytes the ranks share for what the optimizer notes about the rows.
  [[nodiscard]] virtual std::size_t bytes_for_rows(const at::Tensor& parameter) const = 0;
  // From now on `parameter` and its state lie in memory that all ranks share, and so do the notes,
  // with undefined content. Makes the state, if there is none. step() gets the sum of all ranks'
  // gradients on each rank; `rank` of `ranks` changes rows of its own. No rank reads or writes rows
  // of another one between the beginning of step() and its end on all ranks.
  virtual void share_rows(const at::Tensor& parameter,
                          std::shared_ptr<std::byte> notes,
                          int rank,
                          int ranks) = 0;
};

}  // namespace bp

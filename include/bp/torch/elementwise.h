// Marks an optimizer of your own that DistributedOptimizer may give parts of parameters (Shard).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "bp/export.h"

namespace at {
class Tensor;
}
namespace torch::optim {
class OptimizerParamState;
}

namespace BP_API bp {

// What an optimizer can ask during a step() that gets parts, if it needs sums over whole
// parameters, such as norms (LAMB, LARS).
//
// Each part begins at a multiple of kPiece elements of its parameter, in the order of memory, and
// ends at one or at the parameter's end. Write the sum over each piece of this rank's parts into a
// vector that has an element for each piece of all whole parameters, and 0 elsewhere. After
// all_reduce(), add the pieces of a parameter in their order. The result has the same bits on all
// ranks, however they divide the parameters, and as in a step() without parts that adds such
// pieces.
class ParameterParts {
 public:
  static constexpr std::size_t kPiece = std::size_t{1} << 16;

  virtual ~ParameterParts() = default;

  struct Place {
    const at::Tensor* parameter = nullptr;  // the whole one
    std::size_t offset = 0;                 // of the part's first element, in the order of memory
  };
  // Returns no parameter for a tensor that step() gets whole on all ranks. The parameter is valid
  // during this step().
  [[nodiscard]] virtual Place place_of(const at::Tensor& part) const = 0;
  // Adds up `numbers` element by element over the ranks that divide the parameters. All of them
  // must call it, with as many numbers. One call for all parameters costs least. Throws what
  // all_reduce() of bp/collective.h throws; let it leave step().
  virtual void all_reduce(std::span<double> numbers) const = 0;
};

// Derive your optimizer from this class too if what its step() does with an element of a parameter
// depends on this element, its gradient, its state, and numbers that are the same for the whole
// parameter, which use_parts() lets you compute. step() then gets, in the place of each parameter,
// a vector of some of its elements, perhaps of none, and must make the same state for it as for a
// whole parameter.
class Elementwise {
 public:
  virtual ~Elementwise() = default;

  [[nodiscard]] virtual bool is_elementwise() const { return true; }
  // Returns the tensors of `state`, an entry of Optimizer::state(), that have an element for each
  // of the parameter. There must always be as many, and some may be undefined. The default knows
  // the states of LibTorch's own optimizers.
  [[nodiscard]] virtual std::vector<at::Tensor*> tensors_of(
      torch::optim::OptimizerParamState& state) const;
  // Called before each step() that gets parts, and with null after it.
  virtual void use_parts(const ParameterParts* /*parts*/) {}
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

// The part of an optimizer that the training loop and the checkpoints use: what it remembers of
// each parameter, and the updates that it has deferred.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bp::trainer {

struct ParameterState {
  std::int64_t step = 0;  // updates that were made; 0: none, and no moments
  // Shaped as the parameter, in the order of moment_names().
  std::vector<at::Tensor> moments = {};
};

// Every optimizer that make_optimizer() returns implements it. Not to be used during a step.
class OptimizerState {
 public:
  OptimizerState() = default;
  virtual ~OptimizerState() = default;
  OptimizerState(const OptimizerState&) = delete;
  OptimizerState& operator=(const OptimizerState&) = delete;

  // The rate of each of the optimizer's groups is the run's times this factor. 1 for each at first.
  [[nodiscard]] double rate_factor(std::size_t group) const {
    return group < rate_factors_.size() ? rate_factors_[group] : 1;
  }
  void set_rate_factors(std::vector<double> factors) { rate_factors_ = std::move(factors); }

  // Lets the next steps defer the updates of rows that have no gradient, or forbids it. At first it
  // is forbidden. The weights in the end are the same. After a step that may have deferred updates,
  // a row may be read after catch_up() for it, and a state saved after catch_up() for all rows.
  virtual void defer_rows(bool /*may*/) {}
  // Makes the deferred updates of these rows, in each parameter that has some.
  virtual void catch_up(std::span<const std::int64_t> /*rows*/) {}
  // Makes all deferred updates.
  virtual void catch_up() {}

  // Returns the names of the moments, by which a checkpoint stores them.
  [[nodiscard]] virtual std::vector<std::string> moment_names() const = 0;
  // Returns the state of `parameter`. Its tensors share the optimizer's memory.
  [[nodiscard]] virtual ParameterState state_of(const at::Tensor& parameter) const = 0;
  // Replaces the state of `parameter`. The optimizer keeps the tensors.
  virtual void set_state(const at::Tensor& parameter, const ParameterState& state) = 0;

 private:
  std::vector<double> rate_factors_;
};

}  // namespace bp::trainer

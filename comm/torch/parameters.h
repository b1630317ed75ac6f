// The parameters that a DistributedOptimizer was given, checked and sorted.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "bp/torch/distributed_optimizer.h"

namespace bp {

struct Parameter {
  std::string name;
  at::Tensor tensor;
};

struct ParameterSet {
  std::vector<Parameter> trained;  // required a gradient when the optimizer was made
  std::vector<Parameter> frozen;   // did not
};

// In the order given; a tensor that comes twice (tied weights) is kept once, under its first name.
// Throws invalid_argument for what cannot be trained together: no parameter that requires a
// gradient, an empty or doubled name, a tensor that is undefined, not a dense leaf on the CPU or
// not of a type that bp reduces.
[[nodiscard]] ParameterSet sort_parameters(const NamedTensors& given);

// Throws invalid_argument if `optimizer` would update a parameter that is not among them, whose
// gradient would stay this rank's own.
void require_all_named(const torch::optim::Optimizer& optimizer, const ParameterSet& parameters);

// "weight f32 [2, 3]": name, type, shape, and strides where they are not the usual ones.
[[nodiscard]] std::string describe(const Parameter& parameter);

// Throws invalid_argument for a buffer that is undefined or no dense tensor on the CPU.
[[nodiscard]] std::vector<Parameter> check_buffers(const NamedTensors& given);

// The identities of the parameters that `optimizer` updates, by group.
using Members = std::vector<std::vector<const void*>>;
[[nodiscard]] Members members_of(const torch::optim::Optimizer& optimizer);

// Returns one line for each parameter. The lines are equal on two ranks exactly when the parameters
// can be trained together and the same groups of the wrapped optimizer update them:
// "weight f32 [2, 3]", "bias f32 [2] (group 1)".
[[nodiscard]] std::vector<std::string> describe(const ParameterSet& parameters,
                                                const Members& members);

}  // namespace bp

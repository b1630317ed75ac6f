// The parameters of a DistributedOptimizer, checked and sorted.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "bp/torch/distributed_optimizer.h"

namespace bp {

struct Parameter {
  std::string name;
  at::Tensor tensor;
};

struct ParameterSet {
  std::vector<Parameter> trained;  // those that required a gradient when the optimizer was made
  std::vector<Parameter> frozen;   // the others
  [[nodiscard]] c10::Device device() const { return trained.at(0).tensor.device(); }  // of all
};

// Returns the parameters in the given order. A tensor that comes twice (tied weights) is kept once,
// under its first name. Throws invalid_argument if no parameter requires a gradient, if a name is
// empty or comes twice, if a tensor is undefined, no dense leaf, or of a type that bp does not
// reduce, and if not all of them lie on one device.
[[nodiscard]] ParameterSet sort_parameters(const NamedTensors& given);

// Throws invalid_argument if `optimizer` would update a parameter that is not among them, because
// its gradient would not be reduced.
void require_all_named(const torch::optim::Optimizer& optimizer, const ParameterSet& parameters);

// Returns "weight f32 [2, 3]": name, type, shape, the strides if they are not the usual ones, and
// the kind of device if it is not the host: "weight f32 [2, 3] on cuda".
[[nodiscard]] std::string describe(const Parameter& parameter);

// Returns the buffers, which may lie on any device. Throws invalid_argument if one is undefined or
// no dense tensor in memory.
[[nodiscard]] std::vector<Parameter> check_buffers(const NamedTensors& given);

// The identities of the parameters that an optimizer updates, by group.
using Members = std::vector<std::vector<const void*>>;
[[nodiscard]] Members members_of(const torch::optim::Optimizer& optimizer);

// Returns one line for each parameter. The lines are equal on two ranks exactly when the parameters
// can be trained together and the same groups of the wrapped optimizer update them:
// "weight f32 [2, 3]", "bias f32 [2] (group 1)".
[[nodiscard]] std::vector<std::string> describe(const ParameterSet& parameters,
                                                const Members& members);

// Type, shape and device of parameters at one time. Buckets and the state of the wrapped optimizer
// rely on those that the parameters had when the optimizer was made.
class ParameterForms {
 public:
  // `parameters` must outlive this object.
  explicit ParameterForms(const std::vector<Parameter>& parameters);
  // Throws invalid_argument, naming the first parameter that has another form now.
  void require_unchanged() const;

 private:
  struct Form {
    at::ScalarType type;
    std::vector<std::int64_t> shape;
    c10::Device device;
  };
  const std::vector<Parameter>& parameters_;
  std::vector<Form> forms_;
};

}  // namespace bp

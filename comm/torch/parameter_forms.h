// Type, shape and device of parameters at one time. Buckets and the state of the wrapped optimizer
// rely on those that the parameters had when the optimizer was made.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include <c10/core/Device.h>

#include "comm/torch/parameters.h"

namespace bp {

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

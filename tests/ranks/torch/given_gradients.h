// A model whose gradients a test chooses: one parameter of zeros and a loss with the given
// gradient, on tensor_device().
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "tests/support/torch_model.h"

namespace bp::test {

class GivenGradients {
 public:
  // The optimizer is SGD with rate 1, so the parameter becomes minus the sum of all gradients.
  GivenGradients(Communicator& world,
                 std::int64_t count,
                 const DistributedOptimizerOptions& options)
      : parameter_(at::zeros({count}, tensor_device()).requires_grad_()),
        optimizer_(world, {{"p", parameter_}}, make_optimizer("sgd", {parameter_}, 1), options) {}

  void backward(const std::vector<float>& gradient, double weight = 1) {
    optimizer_.backward((parameter_ * at::tensor(gradient).to(tensor_device())).sum(), weight);
  }
  [[nodiscard]] std::vector<float> gradient() const { return values(parameter_.grad()); }
  [[nodiscard]] std::vector<float> parameter() const { return values(parameter_); }
  [[nodiscard]] const at::Tensor& tensor() const { return parameter_; }
  [[nodiscard]] DistributedOptimizer& optimizer() { return optimizer_; }

 private:
  static std::vector<float> values(const at::Tensor& tensor) {
    const at::Tensor host = tensor.cpu();
    const float* const data = host.const_data_ptr<float>();
    return {data, data + host.numel()};
  }

  at::Tensor parameter_;
  DistributedOptimizer optimizer_;
};

}  // namespace bp::test

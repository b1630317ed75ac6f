// A small network, synthetic data and optimizers for tests of bp::torch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include "bp/torch/distributed_optimizer.h"

namespace torch::optim {
class Optimizer;
}

namespace bp::test {

// Where the models of the calling thread lie. Initially the CPU.
[[nodiscard]] c10::Device& tensor_device();

// Synthetic samples, on the CPU: each row has 8 features and one of 4 classes that depends on them.
struct Rows {
  at::Tensor x;
  at::Tensor y;
  [[nodiscard]] Rows slice(std::int64_t from, std::int64_t to) const;
  [[nodiscard]] double weight() const { return static_cast<double>(y.size(0)); }
};
[[nodiscard]] Rows make_rows(std::int64_t count, std::uint64_t seed);

// A network 8 -> 16 -> 16 -> 4 with tanh, on tensor_device(). Equal seeds give equal weights.
class Mlp {
 public:
  explicit Mlp(std::uint64_t seed = 1, at::ScalarType type = at::kFloat);

  [[nodiscard]] at::Tensor loss(const Rows& rows) const;  // mean cross-entropy
  [[nodiscard]] const NamedTensors& named_parameters() const { return parameters_; }
  [[nodiscard]] std::vector<at::Tensor> parameters() const;
  [[nodiscard]] at::Tensor& parameter(std::size_t i) { return parameters_[i].second; }

 private:
  NamedTensors parameters_;  // weight and bias of each layer
};

// Returns the bits of all tensors, for comparing ranks.
[[nodiscard]] std::string bits(const std::vector<at::Tensor>& tensors);
// Returns the largest absolute difference of any element, or NaN if a difference is NaN. Throws if
// the lists or shapes differ, or if there is nothing to compare.
[[nodiscard]] double distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b);
// Returns the bits of the gradients. An undefined gradient counts as one byte.
[[nodiscard]] std::string gradient_bits(const Mlp& model);

// `kind` must be one of optimizer_kinds().
using Parameters = std::vector<at::Tensor>;
[[nodiscard]] std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& kind,
                                                                      const Parameters& parameters,
                                                                      double lr);
[[nodiscard]] const std::vector<std::string>& optimizer_kinds();

}  // namespace bp::test

#include "tests/support/torch_model.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tanh.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <stdexcept>

#include "tests/support/largest_difference.h"

namespace bp::test {

c10::Device& tensor_device() {
  static thread_local c10::Device device = at::kCPU;
  return device;
}

Rows Rows::slice(std::int64_t from, std::int64_t to) const {
  return {x.slice(0, from, to), y.slice(0, from, to)};
}

Rows make_rows(std::int64_t count, std::uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  auto teacher = at::make_generator<at::CPUGeneratorImpl>(99);
  const at::Tensor x = at::randn({count, 8}, generator, at::kFloat);
  return {x, at::argmax(at::mm(x, at::randn({8, 4}, teacher, at::kFloat)), 1)};
}

Mlp::Mlp(std::uint64_t seed, at::ScalarType type) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  const std::int64_t sizes[] = {8, 16, 16, 4};
  for (int layer = 0; layer < 3; ++layer) {
    const std::string name = "layer" + std::to_string(layer);
    const auto random = [&](at::IntArrayRef shape) {
      return (at::randn(shape, generator, at::kDouble) * 0.3)
          .to(type)
          .to(tensor_device())
          .requires_grad_();
    };
    parameters_.emplace_back(name + ".weight", random({sizes[layer + 1], sizes[layer]}));
    parameters_.emplace_back(name + ".bias", random({sizes[layer + 1]}));
  }
}

at::Tensor Mlp::loss(const Rows& rows) const {
  at::Tensor x = rows.x.to(parameters_[0].second.options());
  for (std::size_t i = 0; i < parameters_.size(); i += 2) {
    x = at::linear(i == 0 ? x : at::tanh(x), parameters_[i].second, parameters_[i + 1].second);
  }
  return at::cross_entropy_loss(x, rows.y.to(x.device()));
}

std::vector<at::Tensor> Mlp::parameters() const {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : parameters_) {
    tensors.push_back(tensor);
  }
  return tensors;
}

std::string bits(const std::vector<at::Tensor>& tensors) {
  std::string all;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined()) {
      all += "-";
      continue;
    }
    const at::Tensor host = tensor.cpu();
    all += std::string(static_cast<const char*>(host.const_data_ptr()), host.nbytes());
  }
  return all;
}

double distance(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  if (a.size() != b.size()) throw std::invalid_argument("lists of different lengths are compared");
  LargestDifference difference;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].sizes() != b[i].sizes()) {
      throw std::invalid_argument("tensors of different shapes are compared");
    }
    // max() propagates NaN and throws for an empty tensor.
    difference.add(a[i].cpu().sub(b[i].cpu()).abs().max().item<double>());
  }
  return difference.value();
}

std::string gradient_bits(const Mlp& model) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : model.parameters()) {
    gradients.push_back(parameter.grad());
  }
  return bits(gradients);
}

const std::vector<std::string>& optimizer_kinds() {
  static const std::vector<std::string> kinds = {"sgd",   "sgd-momentum", "adam",
                                                 "adamw", "rmsprop",      "adagrad"};
  return kinds;
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const std::string& kind,
                                                        const Parameters& parameters,
                                                        double lr) {
  using namespace torch::optim;  // NOLINT(google-build-using-namespace): uses ten of its names
  if (kind == "sgd") {
    return std::make_unique<SGD>(parameters, SGDOptions(lr));
  }
  if (kind == "sgd-momentum") {
    return std::make_unique<SGD>(parameters, SGDOptions(lr).momentum(0.9));
  }
  if (kind == "adam") {
    return std::make_unique<Adam>(parameters, AdamOptions(lr));
  }
  if (kind == "adamw") {
    return std::make_unique<AdamW>(parameters, AdamWOptions(lr).eps(1e-6));
  }
  if (kind == "rmsprop") {
    return std::make_unique<RMSprop>(parameters, RMSpropOptions(lr).momentum(0.9));
  }
  if (kind == "adagrad") {
    return std::make_unique<Adagrad>(parameters, AdagradOptions(lr));
  }
  throw std::invalid_argument("no optimizer is called " + kind);
}

}  // namespace bp::test

#include "trainer/model/parameters.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "trainer/model/init.h"
#include "trainer/model/lora.h"

namespace bp::trainer {

using at::Tensor;

Tensor Parameters::add(const std::string& name, const Tensor& parameter) {
  all_.emplace_back(name, parameter.to(device_));
  return all_.back().second;
}

Tensor Parameters::matrix(const std::string& name,
                          std::vector<std::int64_t> shape,
                          std::optional<double> deviation) {
  Tensor parameter = at::empty(shape, at::kFloat);
  fill_normal(parameter, deviation.value_or(deviation_), seed_, name);
  return add(name, parameter);
}

Tensor Parameters::bias(const std::string& name, std::int64_t size) {
  return add(name, at::zeros({size}, at::kFloat));
}

Linear Parameters::linear(const std::string& name, std::int64_t out, std::int64_t in) {
  Linear result;
  result.weight.master = matrix(name + ".weight", {out, in});
  result.bias = bias(name + ".bias", out);
  return result;
}

Adapter Parameters::adapter(const std::string& name,
                            std::int64_t out,
                            std::int64_t in,
                            std::int64_t rank) {
  Adapter result;
  const std::string first = name + ".lora_A.weight";
  Tensor a = at::empty({rank, in}, at::kFloat);
  fill_uniform(a, 1 / std::sqrt(static_cast<double>(in)), seed_, first);
  result.a.master = add(first, a);
  result.b.master = add(name + ".lora_B.weight", at::zeros({out, rank}, at::kFloat));
  return result;
}

void Parameters::remove(std::string_view prefix) {
  std::erase_if(all_, [&](const auto& parameter) { return parameter.first.starts_with(prefix); });
}

void Parameters::remove_adapters() {
  std::erase_if(all_, [](const auto& parameter) { return is_adapter(parameter.first); });
}

Tensor Parameters::tied(const std::string& tied_name, const std::string& name) {
  const auto found = std::ranges::find(all_, name, &NamedTensors::value_type::first);
  BP_CHECK(found != all_.end(), "a weight is tied to one that was made before");
  ties_.emplace(tied_name, name);
  return found->second;
}

Norm Parameters::norm(const std::string& name, std::int64_t size, double epsilon) {
  Norm result;
  result.gamma = add(name + ".weight", at::ones({size}, at::kFloat));
  result.beta = bias(name + ".bias", size);
  result.epsilon = epsilon;
  return result;
}

}  // namespace bp::trainer

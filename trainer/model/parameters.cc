#include "trainer/model/parameters.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "base/check.h"
#include "trainer/model/init.h"

namespace bp::trainer {

using at::Tensor;

Tensor Parameters::add(const std::string& name, const Tensor& parameter) {
  all_.emplace_back(name, parameter);
  return parameter;
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

void Parameters::remove(std::string_view prefix) {
  std::erase_if(all_, [&](const auto& parameter) { return parameter.first.starts_with(prefix); });
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

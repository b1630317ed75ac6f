// The parameters of a model, by name.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <c10/core/Device.h>

#include "trainer/model/passes/functions.h"

namespace bp::trainer {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;
using Seed = std::optional<std::uint64_t>;  // of initial weights

// An adapter of LoRA (lora.h) beside a product, or beside a part of its outputs.
struct Adapter {
  Weight a;                // [rank, in]
  Weight b;                // [part of out, rank]
  std::int64_t begin = 0;  // of the part in the product's outputs
  std::uint32_t site = 0;  // of dropout
  double scale = 1;
};

// A matrix, and the bias that the operation after the product adds.
struct Linear {
  Weight weight;
  at::Tensor bias;
  std::vector<Adapter> adapters = {};
};

// Makes the parameters of a model under construction, in the order of the forward pass. Initial
// weights are normal for matrices, 0 for biases, 1 for norms. They depend only on the seed and each
// parameter's name, so all ranks draw the same ones. Without a seed those of matrices are
// undefined, and take no memory yet.
class Parameters {
 public:
  // `deviation`: of the normal numbers. `cutoff`: the most deviations that one has; 0: any. The
  // parameters will lie on `device`; their numbers do not depend on it.
  Parameters(double deviation, Seed seed, c10::Device device, double cutoff = 0)
      : deviation_(deviation), cutoff_(cutoff), seed_(seed), device_(device) {}

  // `deviation`: another than the model's.
  at::Tensor matrix(const std::string& name,
                    const std::vector<std::int64_t>& shape,
                    std::optional<double> deviation = {});
  at::Tensor bias(const std::string& name, std::int64_t size);
  // A product's weight [out, in] and bias [out]: "<name>.weight", "<name>.bias". Without a bias the
  // model computes with zeros, which are no parameter.
  Linear linear(const std::string& name,
                std::int64_t out,
                std::int64_t in,
                bool with_bias = true,
                std::optional<double> deviation = {});
  Norm norm(const std::string& name, std::int64_t size, double epsilon, bool with_bias = true);
  // An adapter's matrices: "<name>.lora_A.weight" and "<name>.lora_B.weight".
  Adapter adapter(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t rank);

  // Returns the parameter `name`, which a head uses again as its own "`tied_name`". The two are one
  // tensor, which is trained and saved once, under `name`.
  at::Tensor tied(const std::string& tied_name, const std::string& name);

  // Removes the parameters whose names begin with `prefix`: they are neither trained nor saved.
  void remove(std::string_view prefix);

  void remove_adapters();

  [[nodiscard]] const NamedTensors& all() const { return all_; }
  // Returns the names that tied() was called with: from a tied name to the parameter's.
  [[nodiscard]] const std::map<std::string, std::string>& ties() const { return ties_; }

 private:
  at::Tensor add(const std::string& name, const at::Tensor& parameter);
  at::Tensor bias_of(const std::string& module, std::int64_t size, bool with_bias);

  double deviation_;
  double cutoff_;
  Seed seed_;
  c10::Device device_;
  NamedTensors all_;
  std::map<std::string, std::string> ties_;
};

}  // namespace bp::trainer

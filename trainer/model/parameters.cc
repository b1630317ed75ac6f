#include "trainer/model/parameters.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

#include "base/check.h"
#include "trainer/model/kernels/kernels.h"
#include "trainer/model/lora.h"

namespace bp::trainer {
namespace {

// FNV-1a
std::uint64_t hash(std::string_view text) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

// Calls body(begin, count, uniform) for each piece of `tensor`; uniform(i) is the piece's number i,
// between 0 and 1.
template <class Body>
void for_pieces(const at::Tensor& tensor,
                std::uint64_t seed,
                std::string_view name,
                const Body& body) {
  const std::int64_t count = tensor.numel();
  const std::uint64_t name_hash = hash(name);
  kernels::DropoutRow row;
  row.key[0] = static_cast<std::uint32_t>(seed);
  row.key[1] = static_cast<std::uint32_t>(seed >> 32);
  row.sample = static_cast<std::uint32_t>(name_hash);
  row.site = static_cast<std::uint32_t>(name_hash >> 32);
  // A block of 128 numbers of 16 bits makes 64 numbers of 32 bits.
  constexpr std::int64_t kPiece = 64;
  std::uint16_t random[2 * kPiece];
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    kernels::random_block(random, static_cast<std::uint32_t>(begin / kPiece), row);
    body(begin, std::min(kPiece, count - begin), [&](std::int64_t n) {
      const std::uint32_t bits = std::uint32_t{random[2 * n]} << 16 | random[2 * n + 1];
      return (static_cast<double>(bits) + 0.5) * 0x1p-32;
    });
  }
}

// Fills the tensor with normal numbers that depend only on the seed, the name and the index in the
// tensor: not on threads, on the order in which parameters are made, or on the processor's vector
// width.
// Box and Muller's method makes two normal numbers of two uniform ones.
void fill_normal(at::Tensor& tensor, double deviation, std::uint64_t seed, std::string_view name) {
  auto* numbers = tensor.data_ptr<float>();
  for_pieces(tensor, seed, name, [&](std::int64_t begin, std::int64_t count, const auto& uniform) {
    for (std::int64_t i = 0; i < count; i += 2) {
      const double radius = deviation * std::sqrt(-2 * std::log(uniform(i)));
      const double angle = 2 * std::numbers::pi * uniform(i + 1);
      numbers[begin + i] = static_cast<float>(radius * std::cos(angle));
      if (i + 1 < count) numbers[begin + i + 1] = static_cast<float>(radius * std::sin(angle));
    }
  });
}

// The same with numbers that are uniform between -bound and bound.
void fill_uniform(at::Tensor& tensor, double bound, std::uint64_t seed, std::string_view name) {
  auto* numbers = tensor.data_ptr<float>();
  for_pieces(tensor, seed, name, [&](std::int64_t begin, std::int64_t count, const auto& uniform) {
    for (std::int64_t i = 0; i < count; ++i) {
      numbers[begin + i] = static_cast<float>(bound * (2 * uniform(i) - 1));
    }
  });
}

}  // namespace

using at::Tensor;

Tensor Parameters::add(const std::string& name, const Tensor& parameter) {
  all_.emplace_back(name, parameter.to(device_));
  return all_.back().second;
}

Tensor Parameters::matrix(const std::string& name,
                          const std::vector<std::int64_t>& shape,
                          std::optional<double> deviation) {
  Tensor parameter = at::empty(shape, at::kFloat);
  if (!seed_) return add(name, parameter);
  const double own = deviation.value_or(deviation_);
  if (cutoff_ == 0) {
    fill_normal(parameter, own, *seed_, name);
  } else {
    // The inverse of the normal distribution between the cuts.
    fill_uniform(parameter, std::erf(cutoff_ / std::numbers::sqrt2), *seed_, name);
    parameter.erfinv_().mul_(own * std::numbers::sqrt2).clamp_(-cutoff_ * own, cutoff_ * own);
  }
  return add(name, parameter);
}

Tensor Parameters::bias(const std::string& name, std::int64_t size) {
  return add(name, at::zeros({size}, at::kFloat));
}

Tensor Parameters::bias_of(const std::string& module, std::int64_t size, bool with_bias) {
  return with_bias ? bias(module + ".bias", size) : at::zeros({size}, at::kFloat).to(device_);
}

Linear Parameters::linear(const std::string& name,
                          std::int64_t out,
                          std::int64_t in,
                          bool with_bias,
                          std::optional<double> deviation) {
  Linear result;
  result.weight.master = matrix(name + ".weight", {out, in}, deviation);
  result.bias = bias_of(name, out, with_bias);
  return result;
}

Adapter Parameters::adapter(const std::string& name,
                            std::int64_t out,
                            std::int64_t in,
                            std::int64_t rank) {
  Adapter result;
  const std::string first = name + ".lora_A.weight";
  Tensor a = at::empty({rank, in}, at::kFloat);
  if (seed_) fill_uniform(a, 1 / std::sqrt(static_cast<double>(in)), *seed_, first);
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

Norm Parameters::norm(const std::string& name, std::int64_t size, double epsilon, bool with_bias) {
  Norm result;
  result.gamma = add(name + ".weight", at::ones({size}, at::kFloat));
  result.beta = bias_of(name, size, with_bias);
  result.epsilon = epsilon;
  return result;
}

}  // namespace bp::trainer

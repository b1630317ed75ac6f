#include "trainer/model/init.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "trainer/model/kernels/kernels.h"

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

}  // namespace

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

void fill_uniform(at::Tensor& tensor, double bound, std::uint64_t seed, std::string_view name) {
  auto* numbers = tensor.data_ptr<float>();
  for_pieces(tensor, seed, name, [&](std::int64_t begin, std::int64_t count, const auto& uniform) {
    for (std::int64_t i = 0; i < count; ++i) {
      numbers[begin + i] = static_cast<float>(bound * (2 * uniform(i) - 1));
    }
  });
}

}  // namespace bp::trainer

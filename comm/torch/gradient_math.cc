#include "comm/torch/gradient_math.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "comm/base/check.h"
#include "comm/reduce/halves.h"

namespace bp {
namespace {

// Element i is added to lane i mod 16, whatever the width of the machine's registers. The square of
// a float is exact in double precision, so a fused multiply-add gives the same bits too.
constexpr std::size_t kLanes = 16;
using Floats [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using Doubles [[gnu::vector_size(kLanes * sizeof(double))]] = double;

double sum_of_lanes(const double* lanes) {
  double sum = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    sum += lanes[i];
  }
  return sum;
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
double
sum_of_squares(const float* x, std::size_t count) {
  Doubles lanes = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Floats narrow;
    std::memcpy(&narrow, x + i, sizeof narrow);
    const Doubles wide = __builtin_convertvector(narrow, Doubles);
    lanes += wide * wide;
  }
  for (; i < count; ++i) {
    lanes[i % kLanes] += double{x[i]} * double{x[i]};
  }
  double plain[kLanes];
  std::memcpy(plain, &lanes, sizeof plain);
  return sum_of_lanes(plain);
}

template <class T>
double sum_of_squares(const T* x, std::size_t count) {
  double lanes[kLanes] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const auto wide = static_cast<double>(x[i]);
    lanes[i % kLanes] += wide * wide;
  }
  return sum_of_lanes(lanes);
}

// A value is finite unless all bits of its exponent are set.
template <class Bits>
bool all_finite(const std::byte* data, std::size_t count, Bits exponent) {
  std::size_t others = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * sizeof bits, sizeof bits);
    others += static_cast<Bits>(bits & exponent) == exponent ? 1U : 0U;
  }
  return others == 0;
}

}  // namespace

bool all_finite(DataType type, const std::byte* data, std::size_t count) {
  switch (type) {
    case DataType::f16:
      return all_finite<std::uint16_t>(data, count, 0x7c00);
    case DataType::bf16:
      return all_finite<std::uint16_t>(data, count, 0x7f80);
    case DataType::f32:
      return all_finite<std::uint32_t>(data, count, 0x7f800000);
    case DataType::f64:
      return all_finite<std::uint64_t>(data, count, 0x7ff0000000000000);
    default:
      BP_CHECK(false, "a gradient that is not floating");
  }
}

void add(float* into, const float* what, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    into[i] += what[i];
  }
}

void rounding_errors(DataType half, float* errors, const float* values, std::size_t count) {
  constexpr std::size_t kPiece = 1024;
  std::array<std::uint16_t, kPiece> rounded;
  auto* const halves = reinterpret_cast<std::byte*>(rounded.data());
  for (std::size_t at = 0; at < count; at += kPiece) {
    const std::size_t n = std::min(kPiece, count - at);
    narrow(half, halves, reinterpret_cast<const std::byte*>(values + at), n);
    widen(half, reinterpret_cast<std::byte*>(errors + at), halves, n);
    for (std::size_t i = at; i < at + n; ++i) {
      errors[i] = values[i] - errors[i];
    }
  }
}

double sum_of_squares(const at::Tensor& tensor) {
  BP_CHECK(tensor.is_non_overlapping_and_dense(), "a gradient with holes");
  const auto count = static_cast<std::size_t>(tensor.numel());
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return sum_of_squares(tensor.const_data_ptr<float>(), count);
    case at::kDouble:
      return sum_of_squares(tensor.const_data_ptr<double>(), count);
    case at::kHalf:
      return sum_of_squares(tensor.const_data_ptr<at::Half>(), count);
    case at::kBFloat16:
      return sum_of_squares(tensor.const_data_ptr<at::BFloat16>(), count);
    default:
      BP_CHECK(false, "a gradient that is not floating");
  }
}

}  // namespace bp

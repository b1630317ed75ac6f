#include "comm/torch/gradient_math.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "comm/reduce/halves.h"

namespace bp {
namespace {

// Adds element i to lane i mod 16, whatever the width of the machine's registers is. The square of
// a float is exact in double precision, so a fused multiply-add gives the same bits too.
constexpr std::size_t kLanes = 16;

double sum_of_lanes(const double* lanes) {
  double sum = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    sum += lanes[i];
  }
  return sum;
}

using Float2 [[gnu::vector_size(2 * sizeof(float))]] = float;
using Float4 [[gnu::vector_size(4 * sizeof(float))]] = float;
using Float8 [[gnu::vector_size(8 * sizeof(float))]] = float;
using Double2 [[gnu::vector_size(2 * sizeof(double))]] = double;
using Double4 [[gnu::vector_size(4 * sizeof(double))]] = double;
using Double8 [[gnu::vector_size(8 * sizeof(double))]] = double;

// Compiled once for each of the instruction sets below, with Doubles as wide as a register. The
// compiler keeps wider vectors in memory, which takes six times as long.
template <class Floats, class Doubles>
[[gnu::always_inline]] inline double square_floats(const float* x, std::size_t count) {
  constexpr std::size_t kWidth = sizeof(Doubles) / sizeof(double);
  Doubles lanes[kLanes / kWidth] = {};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
#pragma GCC unroll 8
    for (std::size_t part = 0; part < kLanes / kWidth; ++part) {
      Floats narrow;
      std::memcpy(&narrow, x + i + part * kWidth, sizeof narrow);
      const Doubles wide = __builtin_convertvector(narrow, Doubles);
      lanes[part] += wide * wide;
    }
  }
  double plain[kLanes];
  std::memcpy(plain, &lanes, sizeof plain);
  for (; i < count; ++i) {
    plain[i % kLanes] += double{x[i]} * double{x[i]};
  }
  return sum_of_lanes(plain);
}

double square_floats_anywhere(const float* x, std::size_t count) {
  return square_floats<Float2, Double2>(x, count);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] double square_floats_by_avx2(const float* x, std::size_t count) {
  return square_floats<Float4, Double4>(x, count);
}

[[gnu::target("avx512f")]] double square_floats_by_avx512(const float* x, std::size_t count) {
  return square_floats<Float8, Double8>(x, count);
}
#endif

auto best_way_to_square_floats() {
  const auto ways = ways_to_square_floats();
  return std::ranges::find_if(ways, &SquaresOfFloats::is_supported)->sum;
}

template <class Element, class ToDouble>
double square_in_order(const std::byte* data, std::size_t count, ToDouble to_double) {
  const auto* const x = reinterpret_cast<const Element*>(data);
  double lanes[kLanes] = {};
  for (std::size_t i = 0; i < count; ++i) {
    const double wide = to_double(x[i]);
    lanes[i % kLanes] += wide * wide;
  }
  return sum_of_lanes(lanes);
}

}  // namespace

void add(float* into, const float* what, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    into[i] += what[i];
  }
}

void rounding_errors(DataType half, float* errors, const float* values, std::size_t count) {
  constexpr std::size_t kPiece = 1024;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): narrow() writes what widen() reads
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

std::vector<SquaresOfFloats> ways_to_square_floats() {
  return {
#if defined(__x86_64__)
    {"avx512f", __builtin_cpu_supports("avx512f") != 0, square_floats_by_avx512},
        {"avx2", __builtin_cpu_supports("avx2") != 0, square_floats_by_avx2},
#endif
    {
      "baseline", true, square_floats_anywhere
    }
  };
}

double sum_of_squares(DataType type, const std::byte* data, std::size_t count) {
  switch (type) {
    case DataType::f16:
      return square_in_order<Float16>(data, count, [](Float16 x) { return double{to_float(x)}; });
    case DataType::bf16:
      return square_in_order<BFloat16>(data, count, [](BFloat16 x) { return double{to_float(x)}; });
    case DataType::f32: {
      static const auto kSum = best_way_to_square_floats();
      return kSum(reinterpret_cast<const float*>(data), count);
    }
    case DataType::f64:
      return square_in_order<double>(data, count, [](double x) { return x; });
    default:
      BP_CHECK(false, "a gradient that is not floating");
  }
}

}  // namespace bp

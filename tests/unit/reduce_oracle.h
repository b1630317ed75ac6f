// What comm/reduce promises, computed one element at a time and without vectors.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include "bp/types.h"
#include "comm/reduce/halves.h"
#include "tests/support/types.h"

namespace bp::oracle {

template <class T>
T minimum(T a, T b) {
  if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <class T>
T float_op(ReduceOp op, T a, T b) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return a + b;
    case ReduceOp::product:
      return a * b;
    case ReduceOp::min:
      return minimum(a, b);
    case ReduceOp::max:
      return -minimum(-a, -b);
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor:
      std::abort();  // is not defined
  }
  return a;
}

template <class T>
T integer_op(ReduceOp op, T a, T b) {
  using Wide = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
      return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    case ReduceOp::product:
      return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    case ReduceOp::min:
      return b < a ? b : a;
    case ReduceOp::max:
      return a < b ? b : a;
    case ReduceOp::bit_and:
      return static_cast<T>(a & b);
    case ReduceOp::bit_or:
      return static_cast<T>(a | b);
    case ReduceOp::bit_xor:
      return static_cast<T>(a ^ b);
  }
  return a;
}

inline Float16 narrow_like(Float16 /*tag*/, float value) { return to_float16(value); }
inline BFloat16 narrow_like(BFloat16 /*tag*/, float value) { return to_bfloat16(value); }

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>>;

template <class T>
inline constexpr bool kIsBool = std::is_same_v<T, test::Bool>;

template <class T>
T reduce(ReduceOp op, T a, T b) {
  if constexpr (kIsHalf<T>) {
    return narrow_like(a, float_op(op, to_float(a), to_float(b)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return float_op(op, a, b);
  } else if constexpr (kIsComplex<T>) {
    return {float_op(op, a.real(), b.real()), float_op(op, a.imag(), b.imag())};
  } else if constexpr (kIsBool<T>) {
    return {integer_op<std::uint8_t>(op, a.value ? 1 : 0, b.value ? 1 : 0) != 0};
  } else {
    return integer_op(op, a, b);
  }
}

template <class T>
T divide(T value, int ranks) {
  if constexpr (kIsHalf<T>) {
    return narrow_like(value, to_float(value) / static_cast<float>(ranks));
  } else if constexpr (std::is_floating_point_v<T>) {
    return value / static_cast<T>(ranks);
  } else if constexpr (kIsComplex<T>) {
    return {value.real() / static_cast<float>(ranks), value.imag() / static_cast<float>(ranks)};
  } else if constexpr (kIsBool<T>) {
    std::abort();  // is not defined
  } else {
    return static_cast<T>(value / static_cast<std::int64_t>(ranks));
  }
}

// Reduces all of `parts` (one element each). For `average` divides by their number. Rounds once.
template <class T>
T reduce_parts(ReduceOp op, const std::vector<T>& parts) {
  if constexpr (kIsHalf<T>) {
    float all = to_float(parts[0]);
    for (std::size_t p = 1; p < parts.size(); ++p) all = float_op(op, all, to_float(parts[p]));
    if (op == ReduceOp::average) all /= static_cast<float>(parts.size());
    return narrow_like(parts[0], all);
  } else {
    T all = parts[0];
    for (std::size_t p = 1; p < parts.size(); ++p) all = reduce(op, all, parts[p]);
    return op == ReduceOp::average ? divide(all, static_cast<int>(parts.size())) : all;
  }
}

}  // namespace bp::oracle

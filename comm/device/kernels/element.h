// Computes one element. The arithmetic is that of comm/reduce for a single lane, so a device and
// the host compute the same bits. Compiled for both.
#pragma once

#include <cstdint>
#include <limits>

#include "comm/reduce/halves.h"

// Before a function that devices call, too. constexpr functions need no such word.
#ifdef __CUDACC__
#define BP_ON_DEVICE __host__ __device__
#else
#define BP_ON_DEVICE
#endif

namespace bp::kernels {

// What an element is computed in.
template <class T>
struct Wide {
  using Type = T;
  static constexpr Type of(T value) { return value; }
  static constexpr T back(Type value) { return value; }
};
template <>
struct Wide<Float16> {
  using Type = float;
  static constexpr Type of(Float16 value) { return to_float(value); }
  static constexpr Float16 back(Type value) { return to_float16(value); }
};
template <>
struct Wide<BFloat16> {
  using Type = float;
  static constexpr Type of(BFloat16 value) { return to_float(value); }
  static constexpr BFloat16 back(Type value) { return to_bfloat16(value); }
};

// Returns the whole part; the nearest value of T where that does not fit, and 0 for NaN.
template <class T>
constexpr T truncated(double value) {
  using Limits = std::numeric_limits<T>;
  // -lowest and highest + 1 are powers of two, so f64 holds them exactly.
  const double end = static_cast<double>(Limits::max() / 2 + 1) * 2;
  if (value != value) return 0;
  if (value >= end) return Limits::max();
  if (value <= static_cast<double>(Limits::lowest())) return Limits::lowest();
  return static_cast<T>(value);
}

template <class T>
constexpr T scaled(T value, double factor) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    return truncated<T>(static_cast<double>(value) * factor);
  } else {
    using W = typename Wide<T>::Type;
    return Wide<T>::back(Wide<T>::of(value) * static_cast<W>(factor));
  }
}

template <class T>
constexpr T divided(T value, int divisor) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    return static_cast<T>(static_cast<std::int64_t>(value) / divisor);
  } else {
    using W = typename Wide<T>::Type;
    return Wide<T>::back(Wide<T>::of(value) / static_cast<W>(divisor));
  }
}

template <class T>
constexpr bool is_finite(T value) {
  if constexpr (std::numeric_limits<T>::is_integer) {
    return true;
  } else {
    const auto wide = Wide<T>::of(value);
    return wide - wide == 0;  // infinity and NaN give NaN
  }
}

}  // namespace bp::kernels

// Inputs with exact results that are unique to their index. Element j of rank r holds a small
// integer made of both, so sums are exact in every type and every wrong element shows.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <type_traits>
#include <vector>

#include "bp/types.h"
#include "comm/reduce/halves.h"
#include "tests/support/types.h"

namespace bp::test {

template <class T>
[[nodiscard]] T encode(std::int64_t value) {
  if constexpr (std::is_same_v<T, Float16>) return to_float16(static_cast<float>(value));
  if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(static_cast<float>(value));
  if constexpr (std::is_same_v<T, Bool>) return {(value & 1) != 0};
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {static_cast<float>(value), static_cast<float>(3 * value)};
  }
  if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(value);
}

// At most 23, so that the sum over 8 ranks is exact in bf16 (below 256). For products the value is
// 1 or 2, because a 0 of one rank would hide all the others. Where bits are combined, all bits
// vary.
[[nodiscard]] inline std::int64_t value_at(int rank, std::size_t j, ReduceOp op) {
  const std::size_t mixed = j * 7 + static_cast<std::size_t>(rank) * 5 + j / 24;
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
    case ReduceOp::min:
    case ReduceOp::max:
      return static_cast<std::int64_t>(mixed % 24);
    case ReduceOp::product:
      return static_cast<std::int64_t>(1 + mixed / 4 % 2);
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor:
      break;
  }
  return static_cast<std::int64_t>((mixed + 1) * 0x9e3779b97f4a7c15U ^ (mixed << 7));
}

// The number that encode<T>() keeps. Few ranks have the truth value that decides a minimum or a
// maximum of bool, so that both results occur with 8 ranks.
template <class T>
[[nodiscard]] std::int64_t number_at(int rank, std::size_t j, ReduceOp op) {
  const std::int64_t value = value_at(rank, j, op);
  if constexpr (!std::is_same_v<T, Bool>) return value;
  if (op == ReduceOp::min) return value >= 3 ? 1 : 0;
  if (op == ReduceOp::max) return value < 3 ? 1 : 0;
  return value & 1;
}

template <class T>
[[nodiscard]] std::vector<T> input_of(int rank, std::size_t count, ReduceOp op) {
  std::vector<T> data(count);
  for (std::size_t j = 0; j < count; ++j) data[j] = encode<T>(number_at<T>(rank, j, op));
  return data;
}

template <class T>
[[nodiscard]] T divide(std::int64_t sum, int ranks) {
  if constexpr (std::is_same_v<T, Bool>) {
    std::abort();  // is not defined
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<T>(sum) / ranks);  // the sum wraps before the division
  } else if constexpr (std::is_same_v<T, double>) {
    return static_cast<double>(sum) / ranks;
  } else {
    const float quotient = static_cast<float>(sum) / static_cast<float>(ranks);
    if constexpr (std::is_same_v<T, float>) return quotient;
    if constexpr (std::is_same_v<T, Float16>) return to_float16(quotient);
    if constexpr (std::is_same_v<T, BFloat16>) return to_bfloat16(quotient);
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      return {quotient, static_cast<float>(3 * sum) / static_cast<float>(ranks)};
    }
  }
}

template <class T>
[[nodiscard]] T reduced_at(std::size_t j, ReduceOp op, int ranks) {
  std::int64_t result = number_at<T>(0, j, op);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::int64_t value = number_at<T>(rank, j, op);
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::average:
        result += value;
        break;
      case ReduceOp::min:
        result = std::min(result, value);
        break;
      case ReduceOp::max:
        result = std::max(result, value);
        break;
      case ReduceOp::product:
        result *= value;
        break;
      case ReduceOp::bit_and:
        result &= value;
        break;
      case ReduceOp::bit_or:
        result |= value;
        break;
      case ReduceOp::bit_xor:
        result ^= value;
        break;
    }
  }
  return op == ReduceOp::average ? divide<T>(result, ranks) : encode<T>(result);
}

}  // namespace bp::test

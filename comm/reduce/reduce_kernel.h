// Which vector kernel serves an element type, and which serves a reduction of it. A kernel works on
// lanes. Types that differ for the caller only share one: bool uses the lanes of u8, and an element
// of c64 is two lanes of f32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bp/types.h"

namespace bp {

// The lane types. Each costs a copy of every kernel for each instruction set.
enum class Lane : std::uint8_t { u8, i8, u16, i32, i64, f16, bf16, f32, f64 };

struct Kernel {
  Lane lane = Lane::u8;
  std::size_t lanes = 1;  // in one element
};

// Returns the kernel for the arithmetic of `type`: sums, products, minima, quotients and factors.
[[nodiscard]] constexpr Kernel kernel_of(DataType type) {
  constexpr std::array<Kernel, kDataTypes.size()> kKernels = {{
      {Lane::u8},  // by the numbers of the types
      {Lane::i8},
      {Lane::i32},
      {Lane::i64},
      {Lane::f16},
      {Lane::bf16},
      {Lane::f32},
      {Lane::f64},
      {Lane::u16},
      {Lane::u8},      // bool
      {Lane::f32, 2},  // c64: sums, quotients and real factors treat both parts alike
  }};
  const auto number = static_cast<std::size_t>(type);
  return number < kKernels.size() ? kKernels[number] : Kernel{};
}

// Returns the kernel for a pair that can_reduce() allows.
[[nodiscard]] constexpr Kernel kernel_of(ReduceOp op, DataType type) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::average:
    case ReduceOp::min:
    case ReduceOp::max:
    case ReduceOp::product:
      return kernel_of(type);
    case ReduceOp::bit_and:
    case ReduceOp::bit_or:
    case ReduceOp::bit_xor:
      return {Lane::u8, size_of(type)};  // bits do not depend on their neighbours
  }
  return {};
}

}  // namespace bp

// Converts f16 and bf16 to and from f32. Narrowing rounds to the nearest value, ties to even.
// Values that are too large become infinities, and f16 keeps its subnormals. Widening is exact. A
// NaN becomes the canonical quiet NaN (0x7e00, 0x7fc0, 0x7fc00000) in every direction. The
// functions for one number and those for arrays, below, give the same bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "bp/types.h"

namespace bp {

// A function, not a constant: code for devices that takes the address of a constant of the host, as
// a reference to it does, reads from address 0.
[[nodiscard]] constexpr float quiet_nan() { return std::bit_cast<float>(0x7fc00000U); }

[[nodiscard]] constexpr float to_float(BFloat16 half) {
  const std::uint32_t bits = std::uint32_t{static_cast<std::uint16_t>(half)} << 16;
  if ((bits & 0x7fffffffU) > 0x7f800000U) return quiet_nan();
  return std::bit_cast<float>(bits);
}

[[nodiscard]] constexpr BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return BFloat16{0x7fc0};
  const std::uint32_t odd = (bits >> 16) & 1;  // ties go to even
  return BFloat16{static_cast<std::uint16_t>((bits + 0x7fffU + odd) >> 16)};
}

[[nodiscard]] constexpr float to_float(Float16 half) {
  const std::uint32_t bits = static_cast<std::uint16_t>(half);
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t rest = bits & 0x7fffU;
  if (rest > 0x7c00U) return quiet_nan();
  if (rest == 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U);
  if (rest < 0x0400U) {  // zero or a subnormal, which is a multiple of 2^-24
    const float magnitude = static_cast<float>(rest) * 0x1p-24F;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | ((rest << 13) + (std::uint32_t{127 - 15} << 23)));
}

[[nodiscard]] constexpr Float16 to_float16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t rest = bits & 0x7fffffffU;
  if (rest > 0x7f800000U) return Float16{0x7e00};
  std::uint32_t half = 0x7c00;
  if (rest < 0x38800000U) {
    // The value is below 2^-14, f16's smallest normal. Above 0.5 the spacing of f32 is that of
    // f16's subnormals, so this addition rounds to them.
    const float shifted = std::bit_cast<float>(rest) + 0.5F;
    half = std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F);
  } else if (rest < 0x47800000U) {  // below 2^16; it may still round up to infinity
    const std::uint32_t odd = (rest >> 13) & 1;
    half = (rest - (std::uint32_t{127 - 15} << 23) + 0x0fffU + odd) >> 13;
  }
  return Float16{static_cast<std::uint16_t>(sign | half)};
}

// Converts `count` elements of `half` (f16 or bf16) at `in` to f32 at `out`. Both may have any
// alignment, and must not overlap.
void widen(DataType half, std::byte* out, const std::byte* in, std::size_t count);

// Converts `count` f32 at `in` to elements of `half` at `out`. `out` may be `in`; they must not
// overlap otherwise.
void narrow(DataType half, std::byte* out, const std::byte* in, std::size_t count);

}  // namespace bp

// Numbers as int8 in blocks, each with one factor, as they travel between hosts.
//
//   block    factor (bf16), then one int8 for each of 64 elements; the last block may have fewer
//   number   int8 * factor
//
// The factor is the largest magnitude of the block by 127, rounded up to bf16, and at least 2^-126.
// An element becomes the nearest multiple of it, and an even multiple of two that are equally near.
// The product of an int8 and a bf16 is exact in f32, and so is what rounding takes. So every rank
// and every instruction set makes the same numbers of the same bytes. A block with an infinity or a
// NaN becomes NaNs.
//
// Memory may have any alignment, and ranges must not overlap.
#pragma once

#include <cstddef>

namespace bp {

inline constexpr std::size_t kInt8Block = 64;

// Returns how many bytes `count` elements become.
[[nodiscard]] constexpr std::size_t int8_bytes(std::size_t count) {
  return count + (count + kInt8Block - 1) / kInt8Block * 2;
}

// Converts `count` f32 at `in`. `errors` gets what rounding has taken from each, f32, 0 in blocks
// of NaNs; null: nothing.
void to_int8(std::byte* out, const std::byte* in, std::byte* errors, std::size_t count);
// Writes `count` f32 to `out`.
void from_int8(std::byte* out, const std::byte* in, std::size_t count);
// Adds them to `into`.
void add_int8(std::byte* into, const std::byte* in, std::size_t count);

}  // namespace bp

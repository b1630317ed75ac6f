// The arithmetic of the collectives over raw memory: it combines the data of two or more ranks.
// Highway chooses the vector code for this processor at run time; every choice gives the same bits.
//
// Memory may have any alignment. `out` may be one of the inputs; ranges must not overlap otherwise.
// A pair that can_reduce() does not allow ends the process. Nothing allocates, throws or keeps
// state.
//
//   type         sum, product                   min, max                 bit_and, bit_or, bit_xor
//   u8 i8 u16    wrap modulo 2^bits             the smaller, the larger  each bit by itself
//   i32 i64
//   bool         not defined                    of 0 and 1               of 0 and 1
//   c64          one IEEE 754 addition a part; products are not defined, nor is an order
//   f16 bf16     widened to f32, one operation, rounded once to nearest even
//   f32 f64      one IEEE 754 operation         minimum, maximum of IEEE 754-2019:
//                                               NaN wins, and -0 is less than +0
//
// A NaN that is computed in f16 or bf16, or by min or max, is the canonical one (0x7e00, 0x7fc0,
// 0x7fc00000, 0x7ff8000000000000); of a sum or product in f32 or f64 it is some quiet NaN.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "bp/types.h"

namespace bp {

// Sets outs[.][i] = parts[0][i] op parts[1][i] op ..., in this order, for two parts or more. Halves
// stay f32 until the end and are rounded once. An `out` may be one of the parts. `average` only
// adds: finish_average() divides once the data of all ranks are added.
void reduce_parts(DataType type,
                  ReduceOp op,
                  std::span<std::byte* const> outs,
                  std::span<const std::byte* const> parts,
                  std::size_t count);

// Sets outs[.][i] = (parts[0][i] + parts[1][i] + ...) / parts.size(). Halves are divided before
// they are rounded. Integers are truncated towards zero.
void average_parts(DataType type,
                   std::span<std::byte* const> outs,
                   std::span<const std::byte* const> parts,
                   std::size_t count);

// out[i] = a[i] op b[i]
inline void reduce_to(DataType type,
                      ReduceOp op,
                      std::byte* out,
                      const std::byte* a,
                      const std::byte* b,
                      std::size_t count) {
  reduce_parts(type, op, std::array{out}, std::array{a, b}, count);
}

// into[i] = into[i] op from[i]
inline void reduce(
    DataType type, ReduceOp op, std::byte* into, const std::byte* from, std::size_t count) {
  reduce_to(type, op, into, into, from, count);
}

// Divides data[i] by `ranks`. Integers are truncated towards zero; halves are divided in f32 and
// rounded.
void finish_average(DataType type, std::byte* data, std::size_t count, int ranks);

// Multiplies data[i] by `factor`: f64 in f64; f32, both parts of c64, and halves in f32 with the
// factor rounded to f32; integers in f64, truncated towards zero. An integer that does not fit
// becomes the nearest value of its type, and NaN becomes 0.
void scale(DataType type, std::byte* data, std::size_t count, double factor);

}  // namespace bp

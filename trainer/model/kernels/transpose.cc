// The transposition of a matrix, by squares that fit into the registers. This file is compiled once
// for each instruction set (arithmetic.h).
#include <cstdint>
#include <utility>

#include "trainer/model/kernels/loops.h"

namespace bp::trainer::kernels::BP_ISA {
namespace {

// The numbers of a register, which is as wide as the instruction set allows.
#if defined(__AVX512F__)
constexpr int kSide = 16;
#elif defined(__AVX2__)
constexpr int kSide = 8;
#else
constexpr int kSide = 4;
#endif
using Row [[gnu::vector_size(kSide * sizeof(float)), gnu::aligned(4), gnu::may_alias]] = float;
using RowLanes = std::make_integer_sequence<int, kSide>;

// Exchanges the numbers of `a` in lanes l for which l & step != 0 with those of `b` in lanes
// l - step.
template <int step, int... lane>
[[gnu::always_inline]] inline void exchange(Row& a,
                                            Row& b,
                                            std::integer_sequence<int, lane...> /*lanes*/) {
  const Row left =
      __builtin_shufflevector(a, b, ((lane & step) != 0 ? kSide + lane - step : lane)...);
  b = __builtin_shufflevector(a, b, ((lane & step) != 0 ? kSide + lane : lane + step)...);
  a = left;
}

// Exchanges the upper right and the lower left quarter of each square of 2 * step rows and columns
// on the diagonal.
template <int step>
[[gnu::always_inline]] inline void exchange_quarters(Row (&rows)[kSide]) {
  if constexpr (step < kSide) {
#pragma GCC unroll 16
    for (int i = 0; i < kSide; ++i) {
      if ((i & step) == 0) exchange<step>(rows[i], rows[i + step], RowLanes{});
    }
    exchange_quarters<2 * step>(rows);
  }
}

void transpose_square(float* to, std::int64_t to_row, const float* from, std::int64_t from_row) {
  Row rows[kSide];
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) rows[i] = *reinterpret_cast<const Row*>(from + i * from_row);
  exchange_quarters<1>(rows);
#pragma GCC unroll 16
  for (int i = 0; i < kSide; ++i) *reinterpret_cast<Row*>(to + i * to_row) = rows[i];
}

}  // namespace

void transpose(const Transposition& of) {
  for (std::int64_t row = 0; row < of.rows; row += kSide) {
    for (std::int64_t column = 0; column < of.columns; column += kSide) {
      float* const to = of.to + column * of.to_row + row;
      const float* const from = of.from + row * of.from_row + column;
      if (row + kSide <= of.rows && column + kSide <= of.columns) {
        transpose_square(to, of.to_row, from, of.from_row);
        continue;
      }
      for (std::int64_t i = 0; i < kSide && row + i < of.rows; ++i) {
        for (std::int64_t j = 0; j < kSide && column + j < of.columns; ++j) {
          to[j * of.to_row + i] = from[i * of.from_row + j];
        }
      }
    }
  }
}

}  // namespace bp::trainer::kernels::BP_ISA

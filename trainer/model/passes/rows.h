// Helpers for the loops over rows in host_passes.cc and attention.cc.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "bp/types.h"
#include "trainer/model/kernels/kernels.h"
#include "trainer/model/passes/functions.h"

namespace bp::trainer {

// Returns a tensor's memory as the kernels' number type; null for an undefined tensor.
template <class Number>
Number* data(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<Number*>(tensor.data_ptr()) : nullptr;
}

[[nodiscard]] inline DataType number_of(const at::Tensor& x) {
  if (x.scalar_type() == at::kBFloat16) return DataType::bf16;
  return x.scalar_type() == at::kHalf ? DataType::f16 : DataType::f32;
}

// Calls body(Number{}) with the kernels' number type, of a tensor's numbers.
template <class Body>
void by_number(DataType number, const Body& body) {
  if (number == DataType::bf16) {
    body(BFloat16{});
  } else if (number == DataType::f16) {
    body(Float16{});
  } else {
    body(float{});
  }
}
template <class Body>
void by_type(const at::Tensor& tensor, const Body& body) {
  by_number(number_of(tensor), body);
}

// Runs body(begin, end) over the rows 0..rows-1 in parallel, with at least 16384 numbers per
// thread.
template <class Body>
void for_rows(std::int64_t rows, std::int64_t width, const Body& body) {
  constexpr std::int64_t kGrain = 16384;
  at::parallel_for(0, rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width)),
                   body);
}

// Calls body(Number{}, kernels, row) for each row of a matrix, in parallel.
template <class Body>
void for_each_row(DataType number, std::int64_t rows, std::int64_t width, const Body& body) {
  by_number(number, [&](auto tag) {
    const auto& k = kernels::kernels<decltype(tag)>();
    for_rows(rows, width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) body(tag, k, row);
    });
  });
}
template <class Body>
void for_each_row(const at::Tensor& x, const Body& body) {
  for_each_row(number_of(x), x.size(0), x.size(1), body);
}

// Runs body(begin, end) over the columns 0..width-1 in parallel. Threads share no cache line.
template <class Body>
void for_columns(std::int64_t width, std::int64_t rows, const Body& body) {
  constexpr std::int64_t kLine = 16;  // numbers
  for_rows((width + kLine - 1) / kLine, rows * kLine, [&](std::int64_t begin, std::int64_t end) {
    body(begin * kLine, std::min(width, end * kLine));
  });
}

// As for_rows(), for bodies that sum over rows: body(begin, end, sums) adds to `sums`, [width], of
// a piece. `sums`: [kSumPieces, width].
inline constexpr int kSumPieces = 16;
template <class Body>
void for_pieces(std::int64_t rows, float* sums, std::int64_t width, const Body& body) {
  const std::int64_t piece = (rows + kSumPieces - 1) / kSumPieces;
  at::parallel_for(0, kSumPieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      body(std::min(rows, p * piece), std::min(rows, (p + 1) * piece), sums + p * width);
    }
  });
}

// Returns the sum of what for_pieces() adds. The sums of fixed pieces are added in a fixed order,
// so that the result does not depend on the number of threads.
template <class Body>
at::Tensor sum_rows(std::int64_t rows, std::int64_t width, const Body& body) {
  const at::Tensor sums = at::zeros({kSumPieces, width}, at::kFloat);
  for_pieces(rows, data<float>(sums), width, body);
  return at::sum(sums, {0});
}

// Returns zeros, [rows, width], that all threads write, because a vocabulary has millions of
// numbers.
[[nodiscard]] at::Tensor zero_rows(std::int64_t rows, std::int64_t width);

// Converts a Dropout to the kernels' form for any row of `layout`, which must outlive this object.
class DropoutRows {
 public:
  DropoutRows(const Dropout& dropout, const Layout& layout);

  [[nodiscard]] bool active() const { return row_.threshold != 0; }
  // Returns the form without the row's own part.
  [[nodiscard]] const kernels::DropoutRow& of_no_row() const { return row_; }
  // Returns the form for the activations' row `token`.
  [[nodiscard]] kernels::DropoutRow of(std::int64_t token) const;
  // Returns the form for the attention probabilities of the query `token` of sample `row`.
  [[nodiscard]] kernels::DropoutRow of(int row, int head, int token) const;

 private:
  kernels::DropoutRow row_;  // everything except row and sample
  const Layout& layout_;
};

}  // namespace bp::trainer

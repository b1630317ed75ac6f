// Helpers of the functions' loops over rows.
#pragma once

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <array>
#include <cstdint>
#include <vector>

#include "bp/types.h"
#include "trainer/model/functions.h"
#include "trainer/model/kernels/kernels.h"

namespace bp::trainer {

// The kernels' number type of a tensor's memory.
template <class Number>
Number* data(const at::Tensor& tensor) {
  return tensor.defined() ? static_cast<Number*>(tensor.data_ptr()) : nullptr;
}

// Calls body(Number{}) with the kernels' number type of `tensor`.
template <class Body>
void by_type(const at::Tensor& tensor, const Body& body) {
  if (tensor.scalar_type() == at::kBFloat16) {
    body(BFloat16{});
  } else {
    body(float{});
  }
}

// Runs body(begin, end) over 0..rows-1 in parallel; at least `grain` numbers a thread.
template <class Body>
void for_rows(std::int64_t rows, std::int64_t width, const Body& body) {
  constexpr std::int64_t kGrain = 16384;
  at::parallel_for(0, rows, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, width)),
                   body);
}

// The same for bodies that sum over rows: body(begin, end, sums) adds to `sums`, [width], and the
// sums of fixed pieces are added in a fixed order, so that the number of threads does not show.
template <class Body>
at::Tensor sum_rows(std::int64_t rows, std::int64_t width, const Body& body) {
  constexpr std::int64_t kPieces = 16;
  const std::int64_t piece = (rows + kPieces - 1) / kPieces;
  at::Tensor partial = at::zeros({kPieces, width}, at::kFloat);
  auto* sums = partial.data_ptr<float>();
  at::parallel_for(0, kPieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      body(std::min(rows, p * piece), std::min(rows, (p + 1) * piece), sums + p * width);
    }
  });
  return at::sum(partial, {0});
}

// A Dropout as the kernels take it, for any row of `layout`, which must outlive it.
class DropoutRows {
 public:
  DropoutRows(const Dropout& dropout, const Layout& layout);

  [[nodiscard]] bool active() const { return row_.threshold != 0; }
  // Of the activations' row `token`.
  [[nodiscard]] kernels::DropoutRow of(std::int64_t token) const;
  // Of the probabilities with which `token` of sample `row` looks at the others.
  [[nodiscard]] kernels::DropoutRow of(int row, int head, int token) const;

 private:
  kernels::DropoutRow row_;  // all but row and sample
  const Layout& layout_;
};

}  // namespace bp::trainer

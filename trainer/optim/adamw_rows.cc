#include "trainer/optim/adamw_rows.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <span>

#include "base/check.h"
#include "trainer/optim/in_parallel.h"

namespace bp::trainer {
namespace {

// Threads take blocks of rows by turns, because the rows in motion are not evenly distributed: a
// vocabulary often has its frequent words first.
constexpr std::int64_t kBlock = 64;

// Calls body(begin, end) for blocks of the rows, in parallel.
template <class Body>
void for_blocks(std::int64_t rows, std::int64_t width, const Body& body) {
  constexpr std::int64_t kTurns = 64;
  const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
  const std::int64_t grain = std::max<std::int64_t>(1, kTurns * kGrain / (rows * width + 1));
  in_parallel(kTurns, grain, [&](std::int64_t first, std::int64_t end) {
    for (std::int64_t turn = first; turn < end; ++turn) {
      for (std::int64_t b = turn; b < blocks; b += kTurns) {
        body(b * kBlock, std::min(rows, (b + 1) * kBlock));
      }
    }
  });
}

}  // namespace

RowsInMotion rows_in_motion(const at::Tensor& exp_avg, const at::Tensor& exp_avg_sq) {
  const std::int64_t rows = exp_avg.size(0);
  const std::int64_t width = exp_avg.stride(0);
  const auto* const m = exp_avg.const_data_ptr<float>();
  const auto* const v = exp_avg_sq.const_data_ptr<float>();
  const auto is_zero = [](float x) { return x == 0; };
  RowsInMotion moving(static_cast<std::size_t>(rows));
  for_blocks(rows, width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * width;
      moving[static_cast<std::size_t>(row)] = std::all_of(m + at, m + at + width, is_zero) &&
                                                      std::all_of(v + at, v + at + width, is_zero)
                                                  ? 0
                                                  : 1;
    }
  });
  return moving;
}

void adamw_rows(const at::Tensor& parameter,
                const at::Tensor& gradient,
                const at::Tensor& exp_avg,
                const at::Tensor& exp_avg_sq,
                RowsInMotion& moving,
                const AdamWStep& step) {
  BP_CHECK(parameter.is_contiguous() && exp_avg.is_contiguous() && exp_avg_sq.is_contiguous(),
           "rows that are not contiguous");
  const at::Tensor numbers_of_rows = gradient._indices();
  const at::Tensor values = gradient._values().contiguous();
  const std::span numbers(numbers_of_rows.const_data_ptr<std::int64_t>(),
                          static_cast<std::size_t>(numbers_of_rows.numel()));
  const std::int64_t width = parameter.stride(0);
  auto* const p = parameter.mutable_data_ptr<float>();
  const auto* const g = values.const_data_ptr<float>();
  auto* const m = exp_avg.mutable_data_ptr<float>();
  auto* const v = exp_avg_sq.mutable_data_ptr<float>();
  for_blocks(parameter.size(0), width, [&](std::int64_t begin, std::int64_t end) {
    auto next = std::ranges::lower_bound(numbers, begin);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * width;
      std::uint8_t& moves = moving[static_cast<std::size_t>(row)];
      if (next != numbers.end() && *next == row) {
        adamw_loop(width, p + at, g + (next - numbers.begin()) * width, m + at, v + at, step);
        moves = 1;
        ++next;
      } else if (moves != 0) {
        adamw_rest_loop(width, p + at, m + at, v + at, step);
      } else if (step.kept != 1) {
        decay_loop(width, p + at, step.kept);
      }
    }
  });
}

}  // namespace bp::trainer

// AdamW on a matrix whose gradient is sparse: the rows of the words that a batch has. It makes the
// step that a dense gradient with zeros in the other rows makes. A row that never had a gradient
// has no moments, so it only decays.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "trainer/optim/update_loops.h"

namespace bp::trainer {

// For each row: whether any of its moments is not 0.
using RowsInMotion = std::vector<std::uint8_t>;
[[nodiscard]] RowsInMotion rows_in_motion(const at::Tensor& exp_avg, const at::Tensor& exp_avg_sq);

// Makes the step for a coalesced gradient. `moving` must be rows_in_motion() of the moments, or its
// value after the previous step. All tensors are fp32, in the host's memory and contiguous.
void adamw_rows(const at::Tensor& parameter,
                const at::Tensor& gradient,
                const at::Tensor& exp_avg,
                const at::Tensor& exp_avg_sq,
                RowsInMotion& moving,
                const AdamWStep& step);

}  // namespace bp::trainer

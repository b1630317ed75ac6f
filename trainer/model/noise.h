// Normal random numbers for the tokens of a batch.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "trainer/model/pass.h"
#include "trainer/model/passes/layout.h"

namespace bp::trainer {

// Returns standard normal numbers, fp32 [layout.tokens, width] on the CPU, with zeros in the rows
// that belong to no sample. The numbers of a sample depend only on the step, the sample's id and
// its tokens' positions, so that they are the same in any batch and on any rank.
[[nodiscard]] at::Tensor normal_noise(const Layout& layout,
                                      std::int64_t width,
                                      const TrainingStep& step);

}  // namespace bp::trainer

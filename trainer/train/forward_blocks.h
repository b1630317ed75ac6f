// Runs a model on blocks of samples, as evaluation and prediction do.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

// The last bits of a sample's numbers depend on the samples that are computed with it. So blocks
// have this number of consecutive samples, except the last one of a split.
inline constexpr std::int64_t kBlockSamples = 32;

// Returns the number of samples that this process computes at once.
[[nodiscard]] std::int64_t samples_at_once();

// Returns the samples as blocks. If `complete` is not null, it completes them, always by the same
// draw, so that the scores of two models can be compared.
[[nodiscard]] std::vector<Batch> make_blocks(std::span<const Sample> samples,
                                             const SampleSchema& schema,
                                             std::int32_t pad_id,
                                             const CompleteBatch& complete = nullptr);

// Returns the model's outputs for each block, fp32 and contiguous. The numbers do not depend on the
// number of threads.
[[nodiscard]] std::vector<at::Tensor> forward_blocks(const Bert& model,
                                                     const std::vector<Batch>& blocks);

}  // namespace bp::trainer

#include "trainer/train/forward_blocks.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>

namespace bp::trainer {

std::int64_t samples_at_once() { return kBlockSamples * std::max(1, at::get_num_threads()); }

std::vector<Batch> make_blocks(std::span<const Sample> samples,
                               const SampleSchema& schema,
                               std::int32_t pad_id,
                               const CompleteBatch& complete) {
  std::vector<Batch> blocks;
  while (!samples.empty()) {
    const auto block = samples.first(std::min<std::size_t>(kBlockSamples, samples.size()));
    blocks.push_back(make_batch({block.begin(), block.end()}, schema, pad_id));
    if (complete) complete(blocks.back(), {});
    samples = samples.subspan(block.size());
  }
  return blocks;
}

// Inside at::parallel_for a forward pass has one thread, so its sums do not depend on the number of
// threads. parallel_for runs a loop of one iteration outside of a parallel region, hence at least
// two.
std::vector<at::Tensor> forward_blocks(const Bert& model, const std::vector<Batch>& blocks) {
  const auto count = static_cast<std::int64_t>(blocks.size());
  std::vector<at::Tensor> outputs(blocks.size());
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < std::min(end, count); ++b) {
      const auto place = static_cast<std::size_t>(b);
      outputs[place] = model.forward(blocks[place], nullptr).contiguous();
    }
  };
  // Ranks enter the layers of one pass together.
  if (model.enters_layers()) {
    at::parallel_for(0, 2, 1, [&](std::int64_t begin, std::int64_t /*end*/) {
      if (begin == 0) run(0, count);
    });
    return outputs;
  }
  // Another device computes one block after the other, whichever thread asks it to.
  if (!model.parameters().front().second.is_cpu()) {
    run(0, count);
  } else {
    at::parallel_for(0, std::max<std::int64_t>(2, count), 1, run);
  }
  return outputs;
}

}  // namespace bp::trainer

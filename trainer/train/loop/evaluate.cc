#include "trainer/train/loop/evaluate.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "trainer/common/stop_signals.h"
#include "trainer/train/forward_blocks.h"
#include "trainer/train/watch/machine_watch.h"

namespace bp::trainer {
namespace {

struct Share {
  std::int64_t first = 0;  // samples first .. last-1
  std::int64_t last = 0;
};
Share share_of(std::int64_t samples, int ranks, int rank) {
  const auto blocks = static_cast<std::size_t>((samples + kBlockSamples - 1) / kBlockSamples);
  const Block mine = block_of(blocks, ranks, rank);
  const auto first = static_cast<std::int64_t>(mine.offset);
  const auto count = static_cast<std::int64_t>(mine.count);
  return {std::min(samples, first * kBlockSamples),
          std::min(samples, (first + count) * kBlockSamples)};
}

std::vector<Batch> load_blocks(const SampleStore& store,
                               Split split,
                               const Share& share,
                               const CompleteBatch& complete) {
  std::vector<Sample> samples;
  for (std::int64_t i = share.first; i < share.last; ++i) samples.push_back(store.load(split, i));
  return make_blocks(samples, store.schema(), store.pad_id(), complete);
}

// Gives every rank what all ranks kept, in the order of the ranks.
void gather_kept(Communicator& world, std::vector<float>& kept) {
  const auto own = static_cast<std::int64_t>(kept.size());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(world.size()));
  all_gather(world, const_view(std::span(&own, 1)), view(sizes), {.name = "numbers kept"});
  const std::vector<std::size_t> counts(sizes.begin(), sizes.end());
  std::vector<float> all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  all_gather_v(world, const_view(kept), view(all), counts, {.name = "predictions"});
  kept = std::move(all);
}

}  // namespace

std::vector<Batch> first_blocks(const TaskData& task,
                                const SampleStore& store,
                                Split split,
                                std::int64_t most) {
  const Share share{0, std::min(store.size(split), most * kBlockSamples)};
  return load_blocks(store, split, share, task.completion(store.vocabulary(), store.tokenizer()));
}

bool evaluate(Communicator& world,
              const Bert& model,
              const TaskData& task,
              const SampleStore& store,
              Split split,
              Scorer& scorer) {
  const CompleteBatch complete = task.completion(store.vocabulary(), store.tokenizer());
  const Share mine = share_of(store.size(split), world.size(), world.rank());
  const std::int64_t round = samples_at_once();
  const bool leads = world.topology().local_rank() == 0;
  CoreWatch cores;
  std::int64_t stopping = stop_signal() != 0 ? 1 : 0;
  for (std::int64_t begin = mine.first; begin < mine.last && stopping == 0; begin += round) {
    const std::vector<Batch> blocks =
        load_blocks(store, split, {begin, std::min(mine.last, begin + round)}, complete);
    const std::vector<at::Tensor> outputs = forward_blocks(model, blocks);
    for (std::size_t b = 0; b < blocks.size(); ++b) scorer.add(blocks[b], outputs[b]);
    cores.look("an evaluation", leads);
    stopping = stop_signal() != 0 ? 1 : 0;
  }
  all_reduce(world, view(std::span(&stopping, 1)), {.op = ReduceOp::sum, .name = "stop"});
  if (stopping > 0) return false;
  all_reduce(world, view(scorer.counts()), {.op = ReduceOp::sum, .name = "scores"});
  gather_kept(world, scorer.kept());
  return true;
}

}  // namespace bp::trainer

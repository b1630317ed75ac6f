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

  [[nodiscard]] std::int64_t size() const { return last - first; }
  // Returns the samples after the first `done`, at most `most`.
  [[nodiscard]] Share part(std::int64_t done, std::int64_t most) const {
    const std::int64_t begin = std::min(first + done, last);
    return {.first = begin, .last = std::min(begin + most, last)};
  }
};

std::size_t blocks_in(std::int64_t samples) {
  return static_cast<std::size_t>((samples + kBlockSamples - 1) / kBlockSamples);
}

// The first rank has as many blocks as any.
Share share_of(std::int64_t samples, int ranks, int rank) {
  const Block mine = block_of(blocks_in(samples), ranks, rank);
  const auto first = static_cast<std::int64_t>(mine.offset);
  const auto count = static_cast<std::int64_t>(mine.count);
  return {.first = std::min(samples, first * kBlockSamples),
          .last = std::min(samples, (first + count) * kBlockSamples)};
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
  const Share share{.first = 0, .last = std::min(store.size(split), most * kBlockSamples)};
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
  const bool by_layer = model.enters_layers();
  const Share most = by_layer ? share_of(store.size(split), world.size(), 0) : mine;
  const std::vector<Batch> fillers = first_blocks(task, store, split, by_layer ? 1 : 0);
  const std::int64_t round = samples_at_once();
  const bool leads = world.topology().local_rank() == 0;
  CoreWatch cores;
  std::int64_t stopping = stop_signal() != 0 ? 1 : 0;
  const auto agree_to_stop = [&] {
    all_reduce(world, view(std::span(&stopping, 1)), {.op = ReduceOp::sum, .name = "stop"});
  };
  if (by_layer) agree_to_stop();
  for (std::int64_t done = 0; done < most.size() && stopping == 0; done += round) {
    const Share now = mine.part(done, round);
    std::vector<Batch> blocks = load_blocks(store, split, now, complete);
    if (by_layer) blocks.resize(blocks_in(most.part(done, round).size()), fillers.front());
    const std::vector<at::Tensor> outputs = forward_blocks(model, blocks);
    for (std::size_t b = 0; b < blocks_in(now.size()); ++b) scorer.add(blocks[b], outputs[b]);
    cores.look("an evaluation", leads);
    stopping = stop_signal() != 0 ? 1 : 0;
    if (by_layer) agree_to_stop();
  }
  agree_to_stop();
  if (stopping > 0) return false;
  all_reduce(world, view(scorer.counts()), {.op = ReduceOp::sum, .name = "scores"});
  gather_kept(world, scorer.kept());
  return true;
}

}  // namespace bp::trainer

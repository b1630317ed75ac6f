#include "trainer/train/loop/evaluate.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "bp/collective.h"
#include "bp/store.h"
#include "trainer/common/stop_signals.h"
#include "trainer/train/forward_blocks.h"
#include "trainer/train/watch/machine_watch.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kTurns = "bert_train/samples scored";  // how many have been taken

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

// Returns the numbers of all ranks, one after another.
template <class Number>
std::vector<Number> gathered(Communicator& world,
                             const std::vector<Number>& own,
                             const char* name) {
  const auto count = static_cast<std::int64_t>(own.size());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(world.size()));
  all_gather(world, const_view(std::span(&count, 1)), view(sizes), {.name = "numbers kept"});
  const std::vector<std::size_t> counts(sizes.begin(), sizes.end());
  std::vector<Number> all(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
  all_gather_v(world, const_view(own), view(all), counts, {.name = name});
  return all;
}

// Gives every rank what all ranks kept, in the order of the samples, and returns how many samples
// were scored. `parts`: of each part that this rank scored its first sample, its last one + 1, and
// how many numbers were kept of it.
std::int64_t gather_kept(Communicator& world,
                         const std::vector<std::int64_t>& parts,
                         std::vector<float>& kept) {
  struct Part {
    std::int64_t first;
    std::int64_t last;
    std::span<const float> kept;
  };
  const auto facts = gathered(world, parts, "scored parts");
  const auto all = gathered(world, kept, "predictions");
  std::vector<Part> in_order;
  std::span<const float> rest = all;
  for (std::size_t i = 0; i < facts.size(); i += 3) {
    const auto own = static_cast<std::size_t>(facts[i + 2]);
    in_order.push_back({facts[i], facts[i + 1], rest.first(own)});
    rest = rest.subspan(own);
  }
  std::ranges::sort(in_order, {}, &Part::first);
  kept.clear();
  std::int64_t scored = 0;
  for (const Part& part : in_order) {
    BP_CHECK(part.first == std::exchange(scored, part.last), "each sample is scored once");
    kept.insert(kept.end(), part.kept.begin(), part.kept.end());
  }
  return scored;
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
  const Share all{.first = 0, .last = store.size(split)};
  const Share mine = share_of(all.size(), world.size(), world.rank());
  const Share most = share_of(all.size(), world.size(), 0);
  const bool by_layer = model.enters_layers();
  Store* const turns = by_layer ? nullptr : world.store();
  const std::vector<Batch> fillers = first_blocks(task, store, split, by_layer ? 1 : 0);
  const std::int64_t round = std::min(samples_at_once(), most.size());
  const bool leads = world.topology().local_rank() == 0;
  CoreWatch cores;
  std::vector<std::int64_t> parts;
  const auto stops = [&](bool on_some_rank) {
    std::int64_t ranks = stop_signal() != 0 ? 1 : 0;
    if (on_some_rank) {
      all_reduce(world, view(std::span(&ranks, 1)), {.op = ReduceOp::sum, .name = "stop"});
    }
    return ranks > 0;
  };
  for (std::int64_t done = 0; done < (by_layer ? most : all).size() && !stops(by_layer);
       done += round) {
    const Share now = turns != nullptr ? all.part(turns->add(kTurns, round) - round, round)
                                       : mine.part(done, round);
    if (!by_layer && now.size() == 0) break;
    std::vector<Batch> blocks = load_blocks(store, split, now, complete);
    if (by_layer) blocks.resize(blocks_in(most.part(done, round).size()), fillers.front());
    const std::vector<at::Tensor> outputs = forward_blocks(model, blocks);
    const std::size_t kept = scorer.kept().size();
    for (std::size_t b = 0; b < blocks_in(now.size()); ++b) scorer.add(blocks[b], outputs[b]);
    const std::size_t more = scorer.kept().size() - kept;
    parts.insert(parts.end(), {now.first, now.last, static_cast<std::int64_t>(more)});
    cores.look("an evaluation", leads);
  }
  const bool is_stopped = stops(true);
  // No rank takes a turn of the next evaluation before this one's sum of scores.
  if (turns != nullptr && world.rank() == 0) turns->erase(kTurns);
  if (is_stopped) return false;
  all_reduce(world, view(scorer.counts()), {.op = ReduceOp::sum, .name = "scores"});
  BP_CHECK(gather_kept(world, parts, scorer.kept()) == all.size(), "all samples are scored");
  return true;
}

}  // namespace bp::trainer

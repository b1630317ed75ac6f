#include "trainer/train/evaluate.h"

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/text.h"
#include "bp/collective.h"
#include "trainer/data/batch.h"
#include "trainer/data/input_error.h"
#include "trainer/data/label_set.h"
#include "trainer/data/stop_signals.h"

namespace bp::trainer {
namespace {

// The last bits of a sample's numbers depend on the samples that are computed with it. So the
// blocks are fixed.
constexpr std::int64_t kBlock = 32;

// Softmax of `count` logits, in double.
void softmax(const float* logits, std::size_t count, float* probabilities) {
  const float highest = *std::max_element(logits, logits + count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::exp(double{logits[i]} - highest);
  for (std::size_t i = 0; i < count; ++i) {
    probabilities[i] = static_cast<float>(std::exp(double{logits[i]} - highest) / sum);
  }
}

double cross_entropy(const float* logits, std::size_t count, int label) {
  const float highest = *std::max_element(logits, logits + count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::exp(double{logits[i]} - highest);
  return std::log(sum) - (double{logits[label]} - highest);
}

struct Share {
  std::int64_t first = 0;  // samples first .. last-1
  std::int64_t last = 0;
};
Share share_of(std::int64_t samples, int ranks, int rank) {
  const auto blocks = static_cast<std::size_t>((samples + kBlock - 1) / kBlock);
  const Block mine = block_of(blocks, ranks, rank);
  const auto first = static_cast<std::int64_t>(mine.offset);
  const auto count = static_cast<std::int64_t>(mine.count);
  return {std::min(samples, first * kBlock), std::min(samples, (first + count) * kBlock)};
}

// Computes several blocks at once. Inside at::parallel_for a forward pass has one thread, so its
// sums do not depend on the number of threads. parallel_for runs a loop of one iteration outside of
// a parallel region, hence at least two.
void forward_blocks(const Bert& model,
                    const std::vector<Batch>& blocks,
                    std::size_t classes,
                    float* logits) {
  const auto count = static_cast<std::int64_t>(blocks.size());
  at::parallel_for(0, std::max<std::int64_t>(2, count), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t b = begin; b < std::min(end, count); ++b) {
                       const Batch& block = blocks[static_cast<std::size_t>(b)];
                       const at::Tensor result = model.forward(block, nullptr);
                       std::copy_n(result.const_data_ptr<float>(),
                                   static_cast<std::size_t>(block.rows) * classes,
                                   logits + static_cast<std::size_t>(b * kBlock) * classes);
                     }
                   });
}

// What scores samples, the same for all of them.
struct Scorer {
  const Bert& model;
  const SampleStore& store;
  Split split;
  const std::vector<int>& label_map;
};

// Consecutive blocks of at most kBlock samples.
std::vector<Batch> make_blocks(const std::vector<Sample>& samples, std::int32_t pad_id) {
  std::vector<Batch> blocks;
  for (std::size_t i = 0; i < samples.size(); i += kBlock) {
    const auto last = std::min(samples.size(), i + kBlock);
    blocks.push_back(make_batch({samples.begin() + static_cast<std::ptrdiff_t>(i),
                                 samples.begin() + static_cast<std::ptrdiff_t>(last)},
                                pad_id));
  }
  return blocks;
}

// Writes the probabilities of these samples, [samples, classes], and adds the samples with a label
// to `tally`.
void score_samples(const Scorer& by, const Share& share, float* probabilities, Tally& tally) {
  const std::size_t classes = by.model.config().labels.size();
  std::vector<Sample> samples;
  for (std::int64_t i = share.first; i < share.last; ++i) {
    samples.push_back(by.store.load(by.split, i));
  }
  std::vector<float> logits(samples.size() * classes);
  forward_blocks(by.model, make_blocks(samples, by.store.pad_id()), classes, logits.data());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const float* row = logits.data() + i * classes;
    float* own = probabilities + i * classes;
    softmax(row, classes, own);
    const int label = class_of(samples[i], by.label_map);
    if (label < 0) continue;
    tally.add({label, most_probable({own, classes}), cross_entropy(row, classes, label)});
  }
}

}  // namespace

Evaluation evaluate(Communicator& world,
                    const Bert& model,
                    const SampleStore& store,
                    Split split,
                    const std::vector<int>& label_map) {
  const std::size_t classes = model.config().labels.size();
  const std::int64_t samples = store.size(split);
  Evaluation result{Tally(static_cast<int>(classes)), {}};
  result.probabilities.resize(static_cast<std::size_t>(samples) * classes);

  const Scorer scorer{model, store, split, label_map};
  const Share mine = share_of(samples, world.size(), world.rank());
  std::vector<float> own(static_cast<std::size_t>(mine.last - mine.first) * classes);
  const std::int64_t round = kBlock * std::max(1, at::get_num_threads());
  std::int64_t stopping = stop_signal() != 0 ? 1 : 0;
  for (std::int64_t begin = mine.first; begin < mine.last && stopping == 0; begin += round) {
    score_samples(scorer, {begin, std::min(mine.last, begin + round)},
                  own.data() + static_cast<std::size_t>(begin - mine.first) * classes,
                  result.tally);
    stopping = stop_signal() != 0 ? 1 : 0;
  }

  std::vector<std::size_t> counts;
  for (int rank = 0; rank < world.size(); ++rank) {
    const Share share = share_of(samples, world.size(), rank);
    counts.push_back(static_cast<std::size_t>(share.last - share.first) * classes);
  }
  all_reduce(world, view(std::span(&stopping, 1)), {.op = ReduceOp::sum, .name = "stop"});
  result.stopped = stopping > 0;
  if (result.stopped) return result;
  all_reduce(world, view(result.tally.values()), {.op = ReduceOp::sum, .name = "scores"});
  all_gather_v(world, const_view(own), view(result.probabilities), counts, {.name = "predictions"});
  return result;
}

std::vector<int> map_labels(const SampleStore& store, const Bert& model) {
  const std::vector<std::string>& known = model.config().labels;
  std::vector<int> map;
  for (const std::string& label : store.labels()) {
    const auto found = std::find(known.begin(), known.end(), label);
    if (found == known.end()) {
      throw InputError(65, concat("the data has the label '", label, "', which the model lacks"),
                       concat("the model's labels are ", shown_labels(known)));
    }
    map.push_back(static_cast<int>(found - known.begin()));
  }
  return map;
}

int most_probable(std::span<const float> probabilities) {
  return static_cast<int>(std::max_element(probabilities.begin(), probabilities.end()) -
                          probabilities.begin());
}

int class_of(const Sample& sample, const std::vector<int>& label_map) {
  return sample.label < 0 ? -1 : label_map[static_cast<std::size_t>(sample.label)];
}

}  // namespace bp::trainer

#include "trainer/train/batches.h"

#include <algorithm>
#include <utility>

namespace bp::trainer {
namespace {

RowSamplerOptions balanced(RowSamplerOptions options, const Lengths& lengths) {
  options.balanced = true;
  options.lengths = lengths;
  return options;
}

}  // namespace

Batch load_batch(const SampleStore& store,
                 std::span<const std::int64_t> rows,
                 const CompleteBatch& complete,
                 const BatchDraw& draw) {
  std::vector<Sample> samples;
  for (const std::int64_t row : rows) samples.push_back(store.load(Split::train, row));
  Batch batch = make_batch(samples, store.schema(), store.pad_id());
  if (complete) complete(batch, draw);
  return batch;
}

Batches::Batches(const BatchesOptions& options)
    : options_(options),
      store_(SampleStore::open(options.store)),
      complete_(options.task ? options.task->completion(store_.vocabulary(), store_.tokenizer())
                             : nullptr),
      lengths_(options.sampler.lengths != nullptr
                   ? options.sampler.lengths
                   : std::make_shared<Lengths::element_type>(store_.lengths(Split::train))),
      sampler_(balanced(options.sampler, lengths_)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

StepBatches Batches::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || error_ != nullptr; });
  if (ready_.empty()) std::rethrow_exception(error_);
  StepBatches step = std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  return step;
}

void Batches::run(const std::stop_token& stop) {
  try {
    EpochPosition position = options_.position;
    for (std::int64_t i = 0; i < options_.steps; ++i) {
      StepBatches made = make(options_.first_step + i, position);
      position = sampler_.after(position);
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return ready_.size() < kAhead; })) return;
      ready_.push_back(std::move(made));
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

void Batches::set_shares(const RowShares& shares) {
  const std::lock_guard lock(mutex_);
  options_.shares.push_back(shares);
}

std::vector<std::int64_t> Batches::shares_of(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> rows;
  for (const RowShares& shares : options_.shares) {
    if (shares.from_step <= step) rows = shares.rows;
  }
  return rows;
}

Batch Batches::make_batch_of(std::span<const std::int64_t> rows, std::int64_t epoch) const {
  return load_batch(store_, rows, complete_, {.seed = options_.sampler.seed, .epoch = epoch});
}

StepBatches Batches::make(std::int64_t step, const EpochPosition& position) {
  StepBatches result;
  result.step = step;
  const std::vector<RowSampler::MicroBatches> ranks =
      sampler_.step_by_rank(position, shares_of(step));
  std::size_t most = 0;
  std::vector<std::int64_t> filler;
  for (const RowSampler::MicroBatches& rank : ranks) {
    std::int64_t& of_rank = result.rows_of_ranks.emplace_back(0);
    std::int64_t& tokens = result.tokens_of_ranks.emplace_back(0);
    most = std::max(most, rank.size());
    for (const std::vector<std::int64_t>& rows : rank) {
      if (filler.empty() && !rows.empty()) filler.push_back(rows.front());
      of_rank += static_cast<std::int64_t>(rows.size());
      for (const std::int64_t row : rows) tokens += (*lengths_)[static_cast<std::size_t>(row)];
    }
    result.world_rows += of_rank;
    result.world_tokens += tokens;
  }
  RowSampler::MicroBatches mine = ranks[static_cast<std::size_t>(options_.rank)];
  if (options_.fills) mine.resize(most);
  for (const std::vector<std::int64_t>& rows : mine) {
    const bool is_filler = options_.fills && rows.empty();
    Batch& batch =
        result.micro_batches.emplace_back(make_batch_of(is_filler ? filler : rows, position.epoch));
    batch.is_filler = is_filler;
  }
  return result;
}

}  // namespace bp::trainer

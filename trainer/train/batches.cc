#include "trainer/train/batches.h"

#include <utility>

namespace bp::trainer {
namespace {

constexpr std::size_t kAhead = 4;  // steps that are ready before they are needed

RowSamplerOptions balanced(RowSamplerOptions options, const Lengths& lengths) {
  options.balanced = true;
  options.lengths = lengths;
  return options;
}

}  // namespace

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

StepBatches Batches::make(std::int64_t step, const EpochPosition& position) const {
  StepBatches result;
  result.step = step;
  const int micro_batches = sampler_.micro_batches(position.epoch);
  int part = 0;
  const std::vector<std::vector<std::int64_t>> parts = sampler_.step(position);
  std::vector<std::int64_t> filler;
  for (const std::vector<std::int64_t>& rows : parts) {
    if (options_.fills && filler.empty() && !rows.empty()) filler.push_back(rows.front());
  }
  for (const std::vector<std::int64_t>& rows : parts) {
    result.world_rows += static_cast<std::int64_t>(rows.size());
    for (const std::int64_t row : rows) {
      result.world_tokens += (*lengths_)[static_cast<std::size_t>(row)];
    }
    if (part++ / micro_batches != options_.rank) continue;
    std::vector<Sample> samples;
    for (const std::int64_t row : rows.empty() ? filler : rows) {
      samples.push_back(store_.load(Split::train, row));
    }
    Batch batch = make_batch(samples, store_.schema(), store_.pad_id());
    if (complete_) complete_(batch, {options_.sampler.seed, position.epoch});
    batch.is_filler = rows.empty() && batch.rows > 0;
    result.micro_batches.push_back(std::move(batch));
  }
  return result;
}

}  // namespace bp::trainer

// The micro-batches of this rank, step by step. A thread of their own makes them ahead of time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "trainer/batches/batch.h"
#include "trainer/batches/row_sampler.h"
#include "trainer/prepare/task_data.h"
#include "trainer/store/sample_store.h"

namespace bp::trainer {

// The samples of one rank in one step.
struct StepBatches {
  std::int64_t step = 0;  // of the run, from 0
  // Some may have no rows. With equal shares, all ranks have as many.
  std::vector<Batch> micro_batches;
  std::vector<std::int64_t> rows_of_ranks;
  std::vector<std::int64_t> tokens_of_ranks;  // without padding
  std::int64_t world_rows = 0;                // of all ranks in this step
  std::int64_t world_tokens = 0;              // of all ranks' samples in this step, without padding
};

// Loads rows of the train split. `complete`: null if nothing is missing.
[[nodiscard]] Batch load_batch(const SampleStore& store,
                               std::span<const std::int64_t> rows,
                               const CompleteBatch& complete,
                               const BatchDraw& draw);

struct BatchesOptions {
  std::string store;  // its path; the thread opens its own connection
  RowSamplerOptions sampler;
  int rank = 0;
  std::int64_t first_step = 0;  // of the run, from 0
  EpochPosition position = {};  // where that step begins
  std::int64_t steps = 0;       // the number of steps to make, in as many epochs as they need
  // All ranks have as many micro-batches, and one without rows gets a filler, one of the step's.
  bool fills = false;
  std::vector<RowShares> shares = {};         // in the order of their steps; empty: equal ones
  std::shared_ptr<const TaskData> task = {};  // completes the batches; null: nothing is missing
};

// Threads: one thread may call next(). The destructor ends the thread that makes the batches.
class Batches {
 public:
  explicit Batches(const BatchesOptions& options);
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  // Returns the steps first_step, first_step + 1, ... in order. Blocks until the thread has made
  // the step. Throws the thread's error. Must not be called more than `steps` times.
  [[nodiscard]] StepBatches next();
  // Steps from `shares.from_step` on have these shares. That step must be at least kAhead + 2
  // behind the last one that next() has returned.
  void set_shares(const RowShares& shares);
  static constexpr std::size_t kAhead = 4;  // steps that are ready before they are needed

 private:
  void run(const std::stop_token& stop);
  [[nodiscard]] StepBatches make(std::int64_t step, const EpochPosition& position);
  [[nodiscard]] std::vector<std::int64_t> shares_of(std::int64_t step);
  [[nodiscard]] Batch make_batch_of(std::span<const std::int64_t> rows, std::int64_t epoch) const;

  // `mutex_` guards ready_, error_ and options_.shares. After construction only the thread uses the
  // rest.
  BatchesOptions options_;
  SampleStore store_;
  CompleteBatch complete_;
  Lengths lengths_;
  RowSampler sampler_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<StepBatches> ready_;
  std::exception_ptr error_;
  std::jthread thread_;  // last: its destructor joins the thread, which uses the others
};

}  // namespace bp::trainer

// Training: from a model with first weights to one that was trained.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bp/communicator.h"
#include "trainer/model/bert.h"
#include "trainer/train/options.h"
#include "trainer/train/train_log.h"

namespace bp::trainer {

struct TrainJob {
  std::string store;      // its path
  std::int64_t rows = 0;  // of its train split
  double lr = 0;          // the schedule's peak
  std::string metrics;    // metrics.jsonl; empty on ranks that write nothing
  // Called on all ranks after the steps at which an evaluation is due (the last one included).
  std::function<void(TrainLog& log)> evaluate;
};

struct TrainResult {
  std::int64_t steps = 0;
  double epochs = 0;
  bool stopped = false;  // before its time, on request
  TrainSummary summary;
  double seconds_exposed = 0;       // of this rank, waiting for gradients
  std::int64_t gradient_bytes = 0;  // all-reduced by this rank
};

// Optimizer steps of a run: options.steps, or those of the epochs.
[[nodiscard]] std::int64_t total_steps(const Options& options, std::int64_t steps_per_epoch);

// Collective. Throws InputError on all ranks when the loss or the gradient is no finite number.
TrainResult train(Communicator& world, const Options& options, const TrainJob& job, Bert& model);

}  // namespace bp::trainer

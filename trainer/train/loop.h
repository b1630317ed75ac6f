// Training: from a model with first weights, or a checkpoint, to one that was trained.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bp/communicator.h"
#include "trainer/checkpoint/checkpoints.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/train/train_log.h"

namespace bp::trainer {

// What an evaluation of the dev split gave, the same on all ranks.
struct DevScores {
  std::optional<EvaluationSummary> result = {};  // none where there is no dev split
  bool stopped = false;                          // it was ended by a request to stop
};

struct TrainJob {
  std::string store;      // its path
  std::int64_t rows = 0;  // of its train split
  double lr = 0;          // the schedule's peak
  // Scores the dev split, on all ranks. Called after the steps at which an evaluation is due, the
  // last one included. If it was stopped, training ends there, and a resumed run repeats it.
  std::function<DevScores()> evaluate;

  // Where to begin, the same on all ranks; the rest of it is passed on to the next checkpoint.
  CheckpointState start = {};

  // Of rank 0; empty on the others.
  std::string metrics = {};            // metrics.jsonl
  std::string resumed = {};            // the checkpoint's folder that `start` is from, if any
  std::string stop_file = {};          // see StopSignal
  Checkpoints* checkpoints = nullptr;  // where to save; must outlive the call
};

struct TrainResult {
  CheckpointState end;   // after the last step
  double epochs = 0;     // done, of the whole run
  bool stopped = false;  // before its time, on request
  TrainSummary summary;  // of the whole run
};

// The number of consecutive overflows at which a run ends.
inline constexpr std::int64_t kMostSkippedInARow = 20;

// Collective. What it saved is complete when it returns.
//
// A step whose gradient overflowed on an f16 wire makes no update on any rank: weights and moments
// stay as they were. It counts as a step all the same, so its rows are used and the learning rate
// follows the run's plan.
//
// Throws InputError (70) on all ranks when the loss is not a finite number, when the gradient is
// not and no f16 wire can have caused it, and when kMostSkippedInARow steps in a row overflowed.
TrainResult train(Communicator& world, const Options& options, const TrainJob& job, Bert& model);

}  // namespace bp::trainer

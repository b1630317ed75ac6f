// Training: from a model with its first weights, or from a checkpoint, to a trained model.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "bp/communicator.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/tasks/regularization.h"
#include "trainer/train/loop/early_stop.h"
#include "trainer/train/loop/train_log.h"

namespace bp::trainer {

// The result of an evaluation of the dev split, the same on all ranks.
struct DevScores {
  std::optional<EvaluationSummary> result = {};  // none without a dev split
  bool stopped = false;                          // a request to stop ended the evaluation
};

class Distillation;

struct TrainJob {
  std::string store;                           // its path
  std::int64_t rows = 0;                       // the first of its train split, on which it trains
  std::string evaluated = "dev";               // what `evaluate` scores, for the records
  Lengths lengths = {};                        // of these rows; see needs_lengths()
  PerEpoch<double> lr = 0.0;                   // the schedule's highest rate in each epoch
  const Distillation* distillation = nullptr;  // must outlive the call; null: no teacher
  MainScore main_score;                        // ranks the results of the dev split
  Regularization regularization = {};          // of the loss
  // Scores the dev split, on all ranks. train() calls it after each step at which an evaluation is
  // due, the last step included. If it returns `stopped`, training ends, and the resumed run
  // repeats the evaluation.
  std::function<DevScores()> evaluate;

  // The clock of --max-time and of --save-every TIME, which a test replaces.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;

  // Where training starts, the same on all ranks. What train() does not change of it goes into the
  // next checkpoint as it is.
  CheckpointState start = {};

  // On rank 0; empty on the others.
  std::string metrics = {};            // path of metrics.jsonl
  std::string resumed = {};            // folder of the checkpoint that holds `start`, if one does
  std::string stop_file = {};          // whose existence asks this rank to stop
  EventLog* events = nullptr;          // for TensorBoard; must outlive the call
  Checkpoints* checkpoints = nullptr;  // writes the checkpoints; must outlive the call
};

struct TrainResult {
  CheckpointState end;           // after the last step
  double epochs = 0;             // of the whole run
  bool stopped = false;          // a request ended it early
  RunEnd ended = RunEnd::steps;  // why it ended, unless `stopped`
  std::string ended_text = {};   // the same for people
  Shard shard = Shard::none;     // what the ranks divided
  TrainSummary summary;          // of the whole run
};

// A run ends when this number of consecutive steps overflowed and the loss scale, if there is one,
// has fallen to 1.
inline constexpr std::int64_t kMostSkippedInARow = 20;

// Trains until the run's last step, until settings.early_stop ends the run, or until a request to
// stop. Collective. The checkpoints that it saved
// are complete when it returns.
//
// If the gradient of a step overflows, on an f16 wire, with loss scaling or with error feedback, no
// rank makes an update: weights and moments keep their values. The step counts all the same: its
// rows are used and the learning rate follows the schedule.
//
// Throws InputError (70) on all ranks if the loss or the gradient is not finite and none of these
// can have caused that, and at the end of so many skipped steps.
TrainResult train(Communicator& world,
                  const RunSettings& settings,
                  const TrainJob& job,
                  Bert& model);

}  // namespace bp::trainer

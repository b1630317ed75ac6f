// Handles a step that fails: writes its folder (failed_step.h), computes it again, and reports a
// loss or gradient that is not finite.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/tasks/regularization.h"
#include "trainer/train/batches.h"
#include "trainer/train/watch/anomaly.h"
#include "trainer/train/watch/failed_step.h"

namespace bp::trainer {

class Distillation;

struct StepToKeep {
  std::string run;   // its folder
  std::string what;  // the error: "the loss at step 5 is nan"
  const Bert& model;
  const StepBatches& batches;
  const TrainingStep& step;
  double loss_scale = 1;
  double nominal_weight = 1;
};

// Collective. Rank 0 writes RUN/bug/step-N. Returns the folder, on all ranks, or "" if it could not
// be written, which rank 0 logs: the step's own error matters more.
[[nodiscard]] std::string keep_failed_step(Communicator& world, const StepToKeep& step);

// Collective, between reduce() and step(). Does what --detect-anomaly and --check-gradients ask
// for. If they find something, keeps the step unless `step.run` is empty, and throws what they
// throw.
void examine_step(Communicator& world,
                  const TrainOptions& options,
                  const AnomalyWatch& watch,
                  const StepToKeep& step);

// Returns the end of a hint that names the command; empty without a folder.
[[nodiscard]] std::string replay_hint(const std::string& folder);

// What a step computed the second time.
struct Replay {
  struct OfBatch {
    int rank = 0;
    std::size_t batch = 0;  // of this rank, from 0
    int rows = 0;
    double loss = 0;
  };
  std::vector<OfBatch> batches = {};
  double norm = 0;  // of the gradient of all batches
  // The first value that is not finite, in the order of computation: "the weight
  // classifier.bias" or "rank 1, batch 0: the activation pooler". Empty: all are finite.
  std::string first = {};
};

// Sets the model's parameters from the folder, and computes losses and gradient of all ranks'
// batches, one after another. `distillation`: null without a teacher.
[[nodiscard]] Replay replay(const std::string& folder,
                            const FailedStepFile& step,
                            Bert& model,
                            const Regularization& regularization,
                            const Distillation* distillation = nullptr);

struct FailedStep {
  std::string run;         // its folder; empty: no report is written
  const char* what = "";   // "loss"
  double value = 0;        // its value, which is not finite
  std::string since = {};  // what the error says after the value: ", as in the 19 steps before it"
  double loss = 0;
  double lr = 0;
  const Bert& model;  // its gradients are still those of the step
  const StepBatches& batches;
  const TrainingStep& step;  // with which the batches were computed
  const Regularization& regularization;
  const Distillation* distillation = nullptr;
  double loss_scale = 1;  // this and the next one: the optimizer's
  double nominal_weight = 1;
};

// Collective. Every rank computes its batches once more and examines each activation; rank 0 writes
// what all ranks found. Then throws InputError (70), the same on all ranks.
[[noreturn]] void report_not_finite(Communicator& world, const FailedStep& failed);

}  // namespace bp::trainer

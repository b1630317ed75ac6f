// Ends a run whose loss or gradient is not a finite number. RUN/bug/step-<N>.json lists the samples
// and tensors of that step, and RUN/bug/step-<N> is what computes it again; docs/report.md has
// their layouts.
#pragma once

#include <cmath>
#include <string>

#include "bp/communicator.h"
#include "trainer/model/bert.h"
#include "trainer/tasks/regularization.h"
#include "trainer/train/batches.h"

namespace bp::trainer {

class Distillation;

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

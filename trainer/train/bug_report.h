// The end of a run whose loss or gradient is not a finite number. RUN/bug/step-<N>.json lists the
// samples and tensors of that step; docs/report.md has its layout.
#pragma once

#include <cmath>
#include <string>

#include "bp/communicator.h"
#include "trainer/model/bert.h"
#include "trainer/train/batches.h"

namespace bp::trainer {

struct BugScene {
  std::string run;         // its folder; empty: nothing is written
  const char* what = "";   // "loss"
  double value = 0;        // of it, which is not finite
  std::string since = {};  // what the error says after the value: ", as in the 19 steps before it"
  double loss = 0;
  double lr = 0;
  const Bert& model;  // its gradients are still those of the step
  const StepBatches& batches;
  const Bert::Step& step;  // of which the batches were computed
};

// Collective. Computes each rank's batches once more, looking at every activation; rank 0 writes
// what all have found. Then throws InputError (70), the same on all ranks.
[[noreturn]] void report_not_finite(Communicator& world, const BugScene& scene);

}  // namespace bp::trainer

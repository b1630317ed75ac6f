// How many bytes of a run's model are frozen, have dense gradients, or have sparse ones.
#pragma once

#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/report/shard_costs.h"

namespace bp::trainer {

// After choose_gradients().
[[nodiscard]] TrainingState training_state(const RunSettings& settings, const Bert& model);

}  // namespace bp::trainer

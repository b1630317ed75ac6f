// How many bytes of a run's model are frozen, have dense gradients, or have sparse ones, and how
// checkpoints get the state of the optimizer.
#pragma once

#include "bp/communicator.h"
#include "bp/topology.h"
#include "bp/torch/shard.h"
#include "trainer/model/bert.h"
#include "trainer/options/options.h"
#include "trainer/report/shard_costs.h"

namespace bp::trainer {

// After choose_gradients().
[[nodiscard]] TrainingState training_state(const RunSettings& settings, const Bert& model);

// Returns what ranks are to divide. Throws InputError if they cannot.
[[nodiscard]] Shard possible_shard(const Communicator& world,
                                   const RunSettings& settings,
                                   const Bert& model);

// Whether checkpoints are written from the tensors themselves (CheckpointsOptions::copies), since
// rank 0 may have no room for the whole state.
[[nodiscard]] bool saves_in_pieces(const RunSettings& settings,
                                   const Topology& topology,
                                   const Bert& model);

}  // namespace bp::trainer

// What decides the order in which numbers are added up, and so the last digits of a run.
#pragma once

#include "bp/communicator.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

// Collective; the same on all ranks. Ranks and threads, the collectives' backend and algorithm, the
// layout of the gradients' buckets, instruction sets, versions.
[[nodiscard]] Summation summation_of(Communicator& world, const Bert& model);

}  // namespace bp::trainer

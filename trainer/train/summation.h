// What decides the order of summations, and so the last digits of a run.
#pragma once

#include "bp/communicator.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

// Collective. Returns, the same on all ranks: ranks, threads and instruction sets of the hosts, the
// backend and algorithm of the collectives, the layout of the gradients' buckets, and versions.
[[nodiscard]] Summation summation_of(Communicator& world, const Bert& model);

}  // namespace bp::trainer

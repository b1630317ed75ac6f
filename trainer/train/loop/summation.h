// Names what decides the order of summations, and so the last digits of a run.
#pragma once

#include <string>

#include "bp/communicator.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

// Collective. Returns, the same on all ranks: ranks, threads, instruction sets and GPUs of the
// hosts, the backend and algorithm of the collectives, the layout of the gradients' buckets, and
// versions. `gpu` is the name of this rank's, such as "NVIDIA H200"; it may be empty.
[[nodiscard]] Summation summation_of(Communicator& world,
                                     const Bert& model,
                                     const std::string& gpu = {});

}  // namespace bp::trainer

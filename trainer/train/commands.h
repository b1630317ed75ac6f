// What bert_train does: one function a command. Each is called on all ranks and returns the exit
// code; rank 0 writes the files and the lines for a person.
#pragma once

#include "bp/communicator.h"
#include "trainer/train/options.h"

namespace bp::trainer {

inline constexpr int kExitStopped = 75;  // asked to stop; a checkpoint was saved

int run_train(Communicator& world, Options options);
int run_prepare(Communicator& world, const Options& options);
int run_evaluate(Communicator& world, const Options& options);
int run_stop(Communicator& world, const Options& options);

}  // namespace bp::trainer

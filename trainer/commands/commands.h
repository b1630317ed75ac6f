// What bert_train does: one function a command. Each is called on all ranks and returns the exit
// code; rank 0 writes the files and the lines for a person. Throws Interrupted when it is asked to
// stop and has nothing to save.
#pragma once

#include "bp/communicator.h"
#include "trainer/options/options.h"

namespace bp::trainer {

int run_train(Communicator& world, Options options);
int run_prepare(Communicator& world, const Options& options);
int run_evaluate(Communicator& world, const Options& options);
int run_stop(Communicator& world, const Options& options);

}  // namespace bp::trainer

// The commands of bert_train, one function each. All ranks call it, and it returns the exit code.
// Rank 0 writes the files and prints. A command that is asked to stop throws Interrupted if it has
// nothing to save.
#pragma once

#include "bp/communicator.h"
#include "trainer/options/options.h"

namespace bp::trainer {

int run_train(Communicator& world, Options options);
int run_prepare(Communicator& world, const Options& options);
int run_check(Communicator& world, const Options& options);
int run_estimate(Communicator& world, Options options);
int run_scale(Communicator& world, const Options& options);
int run_evaluate(Communicator& world, const Options& options);
int run_predict(Communicator& world, const Options& options);
int run_shards(Communicator& world, const Options& options);
int run_merge(Communicator& world, const Options& options);
int run_export(Communicator& world, const Options& options);
int run_report(Communicator& world, const Options& options);
int run_runs(Communicator& world, const Options& options);
int run_stop(Communicator& world, const Options& options);
int run_replay(Communicator& world, const Options& options);

// Becomes bprun sweep, so it does not return. Needs no world. Throws InputError.
int run_sweep(const Options& options);

}  // namespace bp::trainer

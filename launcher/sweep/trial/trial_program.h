// The command line of a trial: the user's program with the trial's parameters. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

// Returns `program` with the parameters. {NAME} within a word becomes the parameter's text, {trial}
// the trial's number and {folder} its folder. A parameter that no word names is appended: --NAME
// TEXT; -N TEXT if the name has one letter; for true --NAME alone, for false nothing. bert_train
// also gets --run with the folder `run` in the trial's folder, so that the same command resumes it.
[[nodiscard]] std::vector<std::string> trial_program(const std::vector<std::string>& program,
                                                     const Parameters& parameters,
                                                     int trial,
                                                     const std::string& folder);

// Whether the program's name is bert_train, with or without a path. bprun sweep knows its metric
// and its run folder.
[[nodiscard]] bool is_bert_train(const std::vector<std::string>& program);

}  // namespace bp::launcher::sweep

// The command line of a trial: the user's program with the trial's parameters. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

// Returns `program` with the parameters. {NAME} within a word becomes the parameter's text, {trial}
// the trial's number and {folder} its folder. A parameter that no word names is appended: --NAME
// TEXT; -N TEXT if the name has one letter; for true --NAME alone, for false nothing. A program
// that trains as bert_train does also gets --run with the folder `run` in the trial's folder, so
// that the same command resumes it.
struct TrialPlace {
  int trial = 0;
  std::string folder = {};
  bool trains = false;
};
[[nodiscard]] std::vector<std::string> trial_program(const std::vector<std::string>& program,
                                                     const Parameters& parameters,
                                                     const TrialPlace& place);

}  // namespace bp::launcher::sweep

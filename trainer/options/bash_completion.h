// Completion of bert_train's command line in bash.
#pragma once

#include <string>

#include "trainer/report/json.h"

namespace bp::trainer {

// Returns a script for bash to source. `commands` is that list of --help=json, in which each
// command also has its "name" as it is typed, "" for training.
[[nodiscard]] std::string bash_completion(const Json& commands);

}  // namespace bp::trainer

// bprun --completion bash.
#pragma once

#include <string>

#include "base/options/option_set.h"

namespace bp::launcher {

// Returns a script for bash that `source` reads. It completes the options of `set`, their values if
// they are words or files, and the program with its arguments as if they stood alone.
[[nodiscard]] std::string bash_completion(const OptionSet& set);

}  // namespace bp::launcher

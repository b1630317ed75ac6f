// `bprun sweep SPACE.yaml -- PROGRAM`.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher::sweep {

// Runs the sweep, or continues the one in its folder. Blocks until it has ended. Returns the exit
// code of Driver::run(), or 2 for wrong options. Throws Error.
[[nodiscard]] int run_sweep(const std::vector<std::string>& arguments);

}  // namespace bp::launcher::sweep

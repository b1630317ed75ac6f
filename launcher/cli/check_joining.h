// Checks the options that go with --serve and --join.
#pragma once

#include "launcher/cli/options.h"

namespace bp::launcher {

// Throws invalid_argument, naming the options, if some cannot be combined or have wrong values.
void check_joining(const Options& options);

}  // namespace bp::launcher

// Which options go together with --serve and --join.
#pragma once

#include "launcher/cli/options.h"

namespace bp::launcher {

// Throws invalid_argument naming those that do not.
void check_joining(const Options& options);

}  // namespace bp::launcher

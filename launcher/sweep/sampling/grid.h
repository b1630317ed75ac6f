// The product of all dimensions.
#pragma once

#include <vector>

#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

// Returns every combination once, the first dimension slowest. Where conditions exclude a
// parameter, combinations that differ only in it are one. All dimensions must be countable, as
// parse_space() checks.
[[nodiscard]] std::vector<Parameters> grid_of(const Block& block);

}  // namespace bp::launcher::sweep

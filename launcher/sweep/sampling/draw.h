// Makes the parameters of a trial: of the grid, at random, or of given values.
#pragma once

#include <functional>
#include <vector>

#include "launcher/sweep/sampling/random.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

// Returns one value for each parameter of the block whose conditions hold. `values_of` is called
// for each dimension in its order, and returns one value for each name of it.
[[nodiscard]] Parameters parameters_of(
    const Block& block, const std::function<std::vector<Value>(const Dimension&)>& values_of);

// Returns every combination once, the first dimension slowest. Where conditions exclude a
// parameter, combinations that differ only in it are one. All dimensions must be countable, as
// parse_space() checks.
[[nodiscard]] std::vector<Parameters> grid_of(const Block& block);

[[nodiscard]] Parameters random_parameters(const Block& block, Random& random);

// Returns the value of a real dimension (uniform, loguniform) at `x`. It keeps six digits, so that
// people can read and repeat it, and stays between low and high.
[[nodiscard]] Value real_value(const Dimension& dimension, double x);

}  // namespace bp::launcher::sweep

// Draws values of dimensions, or makes them of numbers.
#pragma once

#include <vector>

#include "launcher/sweep/sampling/random.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

// Returns one value for each name of the dimension.
[[nodiscard]] std::vector<Value> draw(const Dimension& dimension, Random& random);

// Returns one value for each parameter of the block whose conditions hold.
[[nodiscard]] Parameters random_parameters(const Block& block, Random& random);

// Returns the value of a real dimension (uniform, loguniform) at `x`. It keeps six digits, so that
// people can read and repeat it, and stays between low and high.
[[nodiscard]] Value real_value(const Dimension& dimension, double x);

}  // namespace bp::launcher::sweep

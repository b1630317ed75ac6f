// Turns parameters into coordinates for the density, and back.
#pragma once

#include <optional>
#include <vector>

#include "launcher/sweep/sampling/parzen.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/value.h"

namespace bp::launcher::sweep {

[[nodiscard]] Axis axis_of(const Dimension& dimension);

// Returns nullopt if the parameter is missing, or has a value that the dimension does not have.
[[nodiscard]] std::optional<double> coordinate_of(const Dimension& dimension,
                                                  const Parameters& parameters);

// Returns one value for each name of the dimension.
[[nodiscard]] std::vector<Value> values_at(const Dimension& dimension, double coordinate);

}  // namespace bp::launcher::sweep

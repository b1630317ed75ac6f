// The charts of a sweep's page, as HTML. Drawings stretch to any width; their text does not.
#pragma once

#include <string>

#include "launcher/sweep/report/page_data.h"

namespace bp::launcher::sweep {

// All return "" if there is nothing to draw.
[[nodiscard]] std::string learning_curves(const PageData& page);
[[nodiscard]] std::string parallel_coordinates(const PageData& page);
// One chart for each parameter: its values and the results.
[[nodiscard]] std::string scatters(const PageData& page);

}  // namespace bp::launcher::sweep

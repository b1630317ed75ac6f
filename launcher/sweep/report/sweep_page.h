// sweep.html: one file that needs nothing from elsewhere.
#pragma once

#include <string>

#include "launcher/sweep/report/page_data.h"

namespace bp::launcher::sweep {

// Returns the whole page. It shows the best trial, the learning curves of the best kCurves, the
// importance of the parameters, all trials as parallel coordinates, a scatter for each parameter
// and a table. The page is complete without its script, which sorts the table.
[[nodiscard]] std::string sweep_page(const PageData& page);

}  // namespace bp::launcher::sweep

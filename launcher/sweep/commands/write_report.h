// `bprun sweep report`: writes sweep.html.
#pragma once

#include <string>

#include "launcher/sweep/report/sweep_page.h"
#include "launcher/sweep/state/sweep_state.h"

namespace bp::launcher::sweep {

[[nodiscard]] PageData page_data_of(SweepReader& sweep);

// Writes the page of the sweep to `path`, or to sweep.html in its folder if that is empty, and
// returns the path. The file is complete or as it was before. Throws io.
std::string write_report(SweepReader& sweep, const std::string& path);

}  // namespace bp::launcher::sweep

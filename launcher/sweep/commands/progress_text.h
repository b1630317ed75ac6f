// The one line that says how far a running sweep is.
#pragma once

#include <string>

#include "launcher/sweep/driver/driver.h"

namespace bp::launcher::sweep {

// "12 of 18 trials ended, 4 run on 4 of 4 slots; about 00:12:00 left; best dev_accuracy 0.93 (trial
// 7)"
[[nodiscard]] std::string progress_text(const SweepView& view, const std::string& metric);

}  // namespace bp::launcher::sweep

// What the live table shows of the driver's trials.
#pragma once

#include <string>

#include "launcher/sweep/driver/driver.h"
#include "launcher/sweep/report/live_table.h"
#include "launcher/sweep/space/metric.h"

namespace bp::launcher::sweep {

// A running trial's remaining time supposes that it takes as long as the finished ones did on
// average. `progress` of the result is empty.
[[nodiscard]] LiveTable live_table_of(const SweepView& view,
                                      const std::string& metric,
                                      Direction direction);

}  // namespace bp::launcher::sweep

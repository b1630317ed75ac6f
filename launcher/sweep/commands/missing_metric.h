// Builds the line that a sweep prints at its end if no trial has reported its metric.
#pragma once

#include <string>

#include "launcher/sweep/driver/sweep_settings.h"
#include "launcher/sweep/state/sweep_reader.h"

namespace bp::launcher::sweep {

// Returns a line that says that no trial has reported the metric, how a program reports one, and
// what the trials reported in its place; "" if a trial has reported it, or SPACE needs no metric.
[[nodiscard]] std::string missing_metric_text(const SweepSettings& settings, SweepReader& sweep);

}  // namespace bp::launcher::sweep

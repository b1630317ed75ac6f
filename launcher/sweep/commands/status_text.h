// Prints the state of a sweep for `bprun sweep status`.
#pragma once

#include <string>

#include "launcher/sweep/state/sweep_state.h"

namespace bp::launcher::sweep {

// For people: the counts, the best trials, those that run and those that failed.
[[nodiscard]] std::string status_text(SweepReader& sweep);
// All that status_text() shows, as one JSON object.
[[nodiscard]] std::string status_json(SweepReader& sweep);
// Every trial as a line of CSV, with a column for each parameter.
[[nodiscard]] std::string trials_csv(SweepReader& sweep);

}  // namespace bp::launcher::sweep

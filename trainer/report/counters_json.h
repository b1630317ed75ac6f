// A communicator's counters (bp/activity.h) as JSON, with the same names.
#pragma once

#include "bp/activity.h"
#include "trainer/report/json.h"

namespace bp::trainer {

[[nodiscard]] Json to_json(const Counters& counters);
// Throws Json::exception or Error (invalid_argument) if `json` does not hold counters.
[[nodiscard]] Counters read_counters(const Json& json);

}  // namespace bp::trainer

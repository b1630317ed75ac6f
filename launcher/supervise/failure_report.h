// Collects what the report of a failed job says.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "launcher/failure/rank_states.h"
#include "launcher/report/failure.h"
#include "launcher/report/output.h"

namespace bp::launcher {

// The failure that ended a generation.
struct GenerationFailure {
  Failure failure;
  std::chrono::system_clock::time_point when = std::chrono::system_clock::now();
  std::chrono::milliseconds after{0};  // since the start of the ranks
};

// Fills all of a report but `next`. `stop_took` is how long the other ranks took to stop. Reads the
// last stderr of the failed rank from `output` and takes a hint from it if the failure has none.
[[nodiscard]] FailureReport make_report(const GenerationFailure& failed,
                                        const RankStates& ranks,
                                        const OutputHub& output,
                                        std::chrono::milliseconds stop_took,
                                        std::map<int, std::string> collectives_in_flight);

}  // namespace bp::launcher

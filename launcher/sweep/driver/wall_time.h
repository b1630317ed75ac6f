// The time of day, for records.
#pragma once

#include <chrono>

#include "launcher/sweep/state/trial_record.h"

namespace bp::launcher::sweep {

[[nodiscard]] inline WallTime wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace bp::launcher::sweep

// What this build of bp can do here.
#pragma once

#include <string>
#include <vector>

#include "bp/export.h"

namespace BP_API bp {

struct BackendState {
  std::string name;     // as CommunicatorOptions::backend takes it
  std::string problem;  // why it cannot be used here; empty where it can
};

// Returns every backend of this version. It looks for what each backend needs, so the answer holds
// for this process only.
[[nodiscard]] std::vector<BackendState> backend_states();

}  // namespace bp

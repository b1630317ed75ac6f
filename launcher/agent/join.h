// bprun --join: an agent that goes to its launcher by itself.
#pragma once

#include <chrono>

#include "launcher/agent/agent.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

struct JoinOrder {
  StoreAddress server;
  Join request;
  std::chrono::milliseconds patience{30'000};        // for the server to be there
  std::chrono::milliseconds lost_after{kLostAfter};  // of the server, until that names another
};

// Tries until the server is there, proves to it and has it prove that both know the key, then is
// its agent (run_agent()). Throws invalid_argument where they do not belong together and
// timeout where there is no server in time.
[[nodiscard]] int join_job(const JoinOrder& order);

}  // namespace bp::launcher

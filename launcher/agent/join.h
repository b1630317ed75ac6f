// bprun --join: connects to a bprun --serve and becomes one of its agents.
#pragma once

#include <chrono>

#include "launcher/agent/agent.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

struct JoinOrder {
  StoreAddress server;
  Join request;
  std::chrono::milliseconds start_timeout{30'000};   // for the server to answer
  std::chrono::milliseconds lost_after{kLostAfter};  // until the server sends another
};

// Tries until the server answers. Each end proves to the other that it knows the key. Then runs as
// the server's agent (run_agent()) and returns the exit code. Throws invalid_argument if the key,
// the version or the program at that address is not the right one, and timeout if no server answers
// in time. Blocks until the job has ended.
[[nodiscard]] int join_job(const JoinOrder& order);

}  // namespace bp::launcher

// The agent: starts the ranks of one host, passes their output on, and leaves no process behind.
// The same code runs beside the launcher and behind ssh. Single-threaded: a rank dies with the
// thread that forked it (PR_SET_PDEATHSIG), which must therefore live as long as the agent.
#pragma once

#include <memory>

#include "comm/base/fd.h"

namespace bp::launcher {

// Serves one job: frames from `in`, frames to `out` (messages.h). The end of `in` kills every
// process of the job. Returns the exit code of the agent's process.
[[nodiscard]] int run_agent(Fd in, Fd out);

}  // namespace bp::launcher

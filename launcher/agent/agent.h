// The agent: starts the ranks of one host, passes their output on, and leaves no process behind.
// The same code runs beside the launcher and behind ssh. Single-threaded: a rank dies with the
// thread that forked it (PR_SET_PDEATHSIG), which must therefore live as long as the agent.
#pragma once

#include "launcher/agent/channel.h"
#include "launcher/agent/join_session.h"

namespace bp::launcher {

// Serves one job by frames (messages.h) over `ends`, whose end kills every process of the job.
// Returns the exit code of the agent's process: with `own` that of the job, 75 where the server was
// lost, or 128 and the signal's number where this machine was told to leave before its ranks ran.
[[nodiscard]] int run_agent(Channel::Ends ends, const JoinSession* own = nullptr);

// The same over this process's stdin and stdout, as its whole life; what goes wrong is said on
// stderr.
[[nodiscard]] int agent_main();

}  // namespace bp::launcher

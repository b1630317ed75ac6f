// The agent: starts the ranks of one host, passes on their output, and leaves no process behind.
// The same code runs on bprun's own machine and behind ssh. Single-threaded: the kernel kills a
// rank when the thread that forked it ends (PR_SET_PDEATHSIG), so that thread must live as long as
// the agent.
#pragma once

#include <chrono>
#include <string>

#include "bp/environment.h"
#include "launcher/agent/channel.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/protocol/timing.h"

namespace bp::launcher {

// What an agent knows that joins a job by --join instead of being started by bprun.
struct JoinSession {
  Join request;
  JobKey key{};        // proves each end to the other; the job's key derives from it (join_key.h)
  std::string server;  // "h1:7000"
  std::chrono::milliseconds lost_after{kLostAfter};  // until the server sends another
};

// Serves one job by messages (agent_messages.h) over `ends`. When that connection ends, the
// agent kills every process of the job. `session` is set for an agent that joins by --join. Returns
// the exit code of this process: 0, or with `session` that of the job, 75 if the server was lost,
// or 128 plus the signal's number if a signal ended this agent before its ranks ran. Blocks until
// no process of the job is left here.
[[nodiscard]] int run_agent(Channel::Ends ends, const JoinSession* session = nullptr);

// Does the same over this process's stdin and stdout, and prints an error on stderr.
[[nodiscard]] int agent_main();

}  // namespace bp::launcher

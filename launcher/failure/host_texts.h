// Describes hosts that bprun cannot use or has lost. Pure.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "launcher/agent/link.h"
#include "launcher/agent/ssh_command.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/report/failure_report.h"

namespace bp::launcher {

// The agent of `host` could not start `program`.
[[nodiscard]] Failure failure_of(const StartFailed& message,
                                 const std::string& host,
                                 const std::string& program);

// The connection to `host` ended before its agent said hello: quotes ssh and says what it means.
[[nodiscard]] Failure unreachable(const std::string& host,
                                  const LinkLoss& loss,
                                  const std::string& remote_bprun);

// The agent of `host` has not said hello within `limit`. `let_in`: ssh reported a successful login.
[[nodiscard]] Failure no_answer(const std::string& host,
                                bool let_in,
                                std::chrono::milliseconds limit);

// The lines below the headline when several hosts failed: `failures` has each host with its
// failure, and the headline is the first one's. Hosts whose failures read alike share a line.
[[nodiscard]] std::vector<std::string> others_like(
    const std::vector<std::pair<std::string, Failure>>& failures);

// The connection to the agent of `host` ended after its hello and before its ranks were done.
[[nodiscard]] Failure lost_after_hello(const std::string& host,
                                       const LinkLoss& loss,
                                       const AgentStart& start);

// Why an agent with this hello cannot work with this bprun; empty if it can.
[[nodiscard]] std::string version_trouble(const std::string& host,
                                          const Hello& hello,
                                          const Hello& own);

}  // namespace bp::launcher

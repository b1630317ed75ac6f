// What bprun says about hosts and ranks that failed. Pure.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "launcher/agent/agent_start.h"
#include "launcher/agent/link.h"
#include "launcher/failure/root_cause_detector.h"
#include "launcher/hosts/placement.h"
#include "launcher/protocol/messages.h"
#include "launcher/report/failure.h"

namespace bp::launcher {

// "exited with code 7", "was killed by signal 11 (SIGSEGV)"; for a status as from waitpid.
[[nodiscard]] std::string describe_status(int status);
[[nodiscard]] int exit_code_of(int status);  // 128 + signal for a signal

[[nodiscard]] std::string describe_rank(const std::vector<PlacedHost>& placement,
                                        int rank,
                                        int pid);

[[nodiscard]] Failure failure_of(const RootCause& root_cause, const std::string& who);
[[nodiscard]] Failure failure_of(const StartFailed& message,
                                 const std::string& host,
                                 const std::string& program);

// A host that gave no agent: ssh's own words, and what they mean.
[[nodiscard]] Failure unreachable(const std::string& host,
                                  const LinkLoss& loss,
                                  const std::string& remote_bprun);

// A host whose agent has not come in time. `let_in`: ssh said that the login worked.
[[nodiscard]] Failure no_answer(const std::string& host,
                                bool let_in,
                                std::chrono::milliseconds limit);

// The lines below the first of several failures, each with its host: hosts of which the same is
// said share a line.
[[nodiscard]] std::vector<std::string> others_like(
    const std::vector<std::pair<std::string, Failure>>& failures);

// An agent that was there and is gone before its ranks were done.
[[nodiscard]] Failure lost_after_hello(const std::string& host,
                                       const LinkLoss& loss,
                                       const AgentStart& start);

// The warning about ranks that joined the store and exited with code 0 without goodbye to it, where
// that did no harm.
[[nodiscard]] std::string left_silently(const std::vector<int>& ranks);

// Nothing if launcher and agent may work together.
[[nodiscard]] std::string version_trouble(const std::string& host,
                                          const Hello& theirs,
                                          const Hello& ours);

}  // namespace bp::launcher

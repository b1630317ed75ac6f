// Asks all hosts of a plan about themselves, in parallel, through agents as a job has them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/network/reach.h"
#include "launcher/plan/job_plan.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

struct HostAnswer {
  std::optional<Hello> hello;
  std::optional<HostFacts> facts;  // unset if it did not answer, or has another version
  std::string problem;             // why `facts` is unset
  std::string hint;
  std::chrono::milliseconds took{0};  // until the hello of its agent
  double clock_ahead = 0;             // seconds by which its clock is ahead of this machine's
  double clock_margin = 0;            // the error of clock_ahead, in seconds
};

struct HostAnswers {
  std::vector<HostAnswer> hosts;  // one for each host of the plan
  // Whether the hosts that answered reach each other. Unset without AskHostsOptions::network, and
  // if all of them are on this machine.
  std::optional<Reach> reach;
};

struct AskHostsOptions {
  Question question = {};
  std::chrono::milliseconds limit{30'000};  // for a host to answer
  bool network = false;                     // let hosts try to reach each other
  std::string interface = {};               // --interface, for that
};

// Blocks until all have answered or failed, and at most for `limit` and the time of a network
// probe.
[[nodiscard]] HostAnswers ask_hosts(const JobPlan& plan, const AskHostsOptions& options);

}  // namespace bp::launcher

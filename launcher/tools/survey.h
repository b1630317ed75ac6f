// Asks all hosts what is there: in parallel, by the agents that a job would have.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/agent/messages.h"
#include "launcher/job/plan.h"

namespace bp::launcher {

struct HostAnswer {
  std::optional<Hello> hello;
  std::optional<HostFacts> facts;  // none from a host with another version, nor without hello
  std::string problem;             // why there are no facts
  std::string hint;
  std::chrono::milliseconds took{0};  // until its agent greeted
  double clock_ahead = 0;             // seconds, of its clock against ours
  double clock_margin = 0;            // it may be so much more or less
};

// One answer for each host of the plan. Hosts that have not answered within `limit` say so.
[[nodiscard]] std::vector<HostAnswer> ask_hosts(const JobPlan& plan,
                                                const Question& question,
                                                std::chrono::milliseconds limit);

}  // namespace bp::launcher

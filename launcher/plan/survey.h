// Asks all hosts what is there: in parallel, by the agents that a job would have.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/network/reach.h"
#include "launcher/plan/plan.h"
#include "launcher/protocol/messages.h"

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

struct Survey {
  std::vector<HostAnswer> hosts;  // one for each of the plan
  // Of those that answered, where they were to try each other and are on several machines.
  std::optional<Reach> reach;
};

struct SurveyOptions {
  Question question = {};
  std::chrono::milliseconds limit{30'000};  // hosts that have not answered by then say so
  bool network = false;                     // have them try each other
  std::string interface = {};               // by which
};

[[nodiscard]] Survey survey_hosts(const JobPlan& plan, const SurveyOptions& options);

}  // namespace bp::launcher

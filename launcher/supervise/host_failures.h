// Finds the failure of a host for which a job must end: a host that cannot be reached, has another
// version of bprun, or was lost.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "launcher/plan/plan.h"
#include "launcher/report/failure.h"
#include "launcher/supervise/agent_heartbeats.h"
#include "launcher/supervise/host_agent.h"

namespace bp::launcher {

class HostFailures {
 public:
  using Clock = EventLoop::Clock;

  // All must outlive it.
  HostFailures(const JobPlan& plan,
               const std::vector<HostAgent>& hosts,
               const AgentHeartbeats& heartbeats);

  // Some host has been lost. The first time counts.
  void host_lost() { first_loss_ = first_loss_.value_or(Clock::now()); }
  // The failure, if there is one. A host may take `start_timeout` to say hello.
  [[nodiscard]] std::optional<Failure> find(std::chrono::milliseconds start_timeout) const;

 private:
  [[nodiscard]] std::optional<Failure> not_reached(std::chrono::milliseconds start_timeout) const;
  [[nodiscard]] std::optional<Failure> other_version() const;
  [[nodiscard]] std::optional<Failure> lost_while_running() const;
  [[nodiscard]] std::optional<Failure> own_pause(const LinkLoss& loss) const;
  [[nodiscard]] const std::string& name(std::size_t host) const;

  const JobPlan& plan_;
  const std::vector<HostAgent>& hosts_;
  const AgentHeartbeats& heartbeats_;
  const Hello own_hello_;
  std::optional<Clock::time_point> first_loss_;
};

}  // namespace bp::launcher

// The agents of all hosts of a job: starts them in parallel, sends to them, and ends them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/plan/job_plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/report/failure_report.h"
#include "launcher/serve/joined_machines.h"
#include "launcher/supervise/agent_heartbeats.h"

namespace bp::launcher {

class AgentSet {
 public:
  // Starts the agents of all hosts but those in `machines`, which have joined (joined_machines.h).
  // `on_message` gets each message that AgentSet does not handle itself, with the host's number. A
  // host that is silent for `lost_after` is lost. `loop` and `plan` must outlive this. Throws io if
  // an agent, or ssh, cannot be started.
  AgentSet(EventLoop& loop,
           const JobPlan& plan,
           std::vector<JoinedMachine> machines,
           std::chrono::milliseconds lost_after,
           std::function<void(std::size_t, const ToLauncher&)> on_message);
  ~AgentSet();
  AgentSet(const AgentSet&) = delete;
  AgentSet& operator=(const AgentSet&) = delete;

  [[nodiscard]] std::size_t size() const { return hosts_.size(); }
  [[nodiscard]] const Hello& hello(std::size_t host) const { return hosts_[host].hello; }
  [[nodiscard]] HostPhase phase(std::size_t host) const { return hosts_[host].phase; }
  [[nodiscard]] bool all_in(HostPhase phase) const;
  [[nodiscard]] bool all_ready() const;  // to start their ranks, or have done so
  [[nodiscard]] bool all_over() const;   // each is done or lost

  // What went wrong with a host, if anything did: its program cannot start, it was not reached or
  // did not answer within `start_timeout`, it has another version, or it was lost.
  [[nodiscard]] std::optional<Failure> trouble(std::chrono::milliseconds start_timeout) const;

  void send(std::size_t host, const ToAgent& message) { hosts_[host].link->send(message); }
  void send_to_all(const ToAgent& message);
  // `bytes` of the output of a host's ranks have been taken. Acknowledges them to the agent, many
  // at a time.
  void output_taken(std::size_t host, std::uint32_t bytes);
  // AgentHeartbeats::look_for_signs_by() and resumed()
  void look_for_signs_by(std::function<std::map<std::string, std::string>()> signs);
  void resumed() { heartbeats_.resumed(); }
  // Sends `end` to the agents that joined, and waits at most `limit` until they have closed their
  // connections.
  void dismiss(const End& end, std::chrono::milliseconds limit);
  // Lets all agents end and waits at most `limit` for that. Only the destructor may follow.
  void close(std::chrono::milliseconds limit);

 private:
  using Clock = EventLoop::Clock;

  void connect(std::size_t host, JoinedMachine machine);
  void handle(std::size_t host, const ToLauncher& message);
  void on_lost(std::size_t host, const LinkLoss& loss);
  [[nodiscard]] std::optional<Failure> not_reached(std::chrono::milliseconds start_timeout) const;
  [[nodiscard]] std::optional<Failure> other_version() const;
  [[nodiscard]] std::optional<Failure> lost_while_running() const;
  [[nodiscard]] std::optional<Failure> own_pause(const LinkLoss& loss) const;
  [[nodiscard]] const std::string& name(std::size_t host) const;

  EventLoop& loop_;
  const JobPlan& plan_;
  std::function<void(std::size_t, const ToLauncher&)> on_message_;
  std::vector<HostAgent> hosts_;
  AgentHeartbeats heartbeats_;
  const Hello own_hello_;
  std::optional<Failure> start_failure_;
  std::optional<Clock::time_point> first_loss_;  // of a host
};

}  // namespace bp::launcher

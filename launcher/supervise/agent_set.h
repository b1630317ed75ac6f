// The agents of all hosts: started in parallel, asked who they are, given the job, watched.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/agent/link.h"
#include "launcher/plan/plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/own_pause.h"
#include "launcher/protocol/messages.h"
#include "launcher/report/failure.h"
#include "launcher/serve/joined_machines.h"

namespace bp::launcher {

enum class HostPhase { connecting, greeted, ready, done, lost };

class AgentSet {
 public:
  using Clock = EventLoop::Clock;

  // `on_message` gets what the agent set has no use for itself, with the host's number. Starts the
  // agents of all hosts but those of `arrivals` (machines.h); throws io where not even ssh can be
  // run. A host that is silent for `lost_after` is lost.
  AgentSet(EventLoop& loop,
           const JobPlan& plan,
           std::vector<JoinedMachine> arrivals,
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

  // What went wrong with a host, if anything did: not reached, not answering within
  // `start_timeout`, another version, program not startable, lost, silent.
  [[nodiscard]] std::optional<Failure> trouble(std::chrono::milliseconds start_timeout);

  void send(std::size_t host, const ToAgent& message) { hosts_[host].link->send(message); }
  void send_to_all(const ToAgent& message);
  // So many bytes of what a host's ranks print have been taken. The agent hears of it by and by.
  void output_taken(std::size_t host, std::uint32_t bytes);
  // From here on hosts may give signs of life by other ways: asked for while a host is silent.
  // `signs` returns the last of each host, by liveness_check.h's keys.
  void look_for_signs_by(std::function<std::map<std::string, std::string>()> signs) {
    signs_ = std::move(signs);
  }
  // After a pause that all agents were told of.
  void resumed();
  // Tells those that came by themselves how the job ended, and waits until they have heard, at most
  // so long.
  void dismiss(const End& end, std::chrono::milliseconds limit);
  // Lets all agents end, and waits for that, at most so long. the agent set is of no use
  // afterwards.
  void close(std::chrono::milliseconds limit);

 private:
  struct HostState {
    HostPhase phase = HostPhase::connecting;
    std::unique_ptr<AgentLink> link;
    Hello hello;
    LinkLoss loss;
    std::string sign;                // the last that it gave by another way
    Clock::time_point sign_at{};     // when that was seen
    std::uint32_t output_taken = 0;  // that its agent has not heard of
  };
  void connect(std::size_t host, JoinedMachine arrival);
  void handle(std::size_t host, const ToLauncher& message);
  void on_lost(std::size_t host, const LinkLoss& loss);
  void beat();
  void look();
  void look_for_pause();
  void look_for_signs();
  void look_for_silence();
  [[nodiscard]] Clock::duration silence_of(const HostState& host) const;
  [[nodiscard]] bool watched(std::size_t host) const;
  [[nodiscard]] const std::string& name(std::size_t host) const;
  [[nodiscard]] std::optional<Failure> not_reached(std::chrono::milliseconds start_timeout) const;
  [[nodiscard]] std::optional<Failure> other_version() const;
  [[nodiscard]] std::optional<Failure> host_lost() const;
  [[nodiscard]] std::optional<Failure> own_pause_failure(const LinkLoss& loss) const;

  EventLoop& loop_;
  const JobPlan& plan_;
  const std::chrono::milliseconds lost_after_;
  std::function<void(std::size_t, const ToLauncher&)> on_message_;
  const Hello ours_;
  std::vector<HostState> hosts_;
  std::function<std::map<std::string, std::string>()> signs_;
  Clock::time_point awake_since_ = Clock::now();
  OwnPause own_pause_;
  std::chrono::milliseconds paused_for_{0};  // the last pause, which ended at awake_since_
  std::optional<Clock::time_point> first_loss_;
  std::optional<Failure> start_failure_;
  EventLoop::TimerId heartbeat_ = 0;
  EventLoop::TimerId look_ = 0;
};

}  // namespace bp::launcher

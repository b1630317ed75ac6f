// The agents of all hosts: started in parallel, asked who they are, given the job, watched.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/agent/link.h"
#include "launcher/agent/messages.h"
#include "launcher/job/company.h"
#include "launcher/job/plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/report/failure.h"

namespace bp::launcher {

enum class HostPhase { connecting, greeted, ready, done, lost };

class Crew {
 public:
  using Clock = EventLoop::Clock;

  // `on_message` gets what the crew has no use for itself, with the host's number. Starts the
  // agents of all hosts but those of `arrivals` (company.h); throws io where not even ssh can be
  // run.
  Crew(EventLoop& loop,
       const JobPlan& plan,
       std::vector<Arrival> arrivals,
       std::function<void(std::size_t, const ToLauncher&)> on_message);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

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
  // After a time in which we did not run, and so could not hear of anybody.
  void resumed() { awake_since_ = Clock::now(); }
  // Tells those that came by themselves how the job ended, and waits until they have heard, at most
  // so long.
  void dismiss(const End& end, std::chrono::milliseconds limit);
  // Lets all agents end, and waits for that, at most so long. The crew is of no use afterwards.
  void close(std::chrono::milliseconds limit);

 private:
  struct HostState {
    HostPhase phase = HostPhase::connecting;
    std::unique_ptr<AgentLink> link;
    Hello hello;
    LinkLoss loss;
    std::uint32_t output_taken = 0;  // that its agent has not heard of
  };
  void connect(std::size_t host, Arrival arrival);
  void handle(std::size_t host, const ToLauncher& message);
  void on_lost(std::size_t host, const LinkLoss& loss);
  void beat();
  void look_for_silence();
  [[nodiscard]] const std::string& name(std::size_t host) const;
  [[nodiscard]] std::optional<Failure> not_reached(std::chrono::milliseconds start_timeout) const;
  [[nodiscard]] std::optional<Failure> other_version() const;
  [[nodiscard]] std::optional<Failure> host_lost() const;

  EventLoop& loop_;
  const JobPlan& plan_;
  std::function<void(std::size_t, const ToLauncher&)> on_message_;
  const Hello ours_;
  std::vector<HostState> hosts_;
  Clock::time_point awake_since_ = Clock::now();
  std::optional<Clock::time_point> first_loss_;
  std::optional<Failure> start_failure_;
  EventLoop::TimerId heartbeat_ = 0;
};

}  // namespace bp::launcher

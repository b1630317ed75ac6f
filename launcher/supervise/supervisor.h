// Runs one generation of a job: agents, ranks, store, output, signals, and the truth about what
// failed. A job that begins anew after a failure has several (restarts.h).
//
// Threads: everything runs on the thread that constructs it, except that the store's server tells
// its events from its own, through StoreEvents.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bp/environment.h"
#include "comm/store/server.h"
#include "launcher/cli/options.h"
#include "launcher/failure/heartbeat_monitor.h"
#include "launcher/failure/rank_states.h"
#include "launcher/failure/root_cause_detector.h"
#include "launcher/network/network_probe.h"
#include "launcher/plan/plan.h"
#include "launcher/process/event_loop.h"
#include "launcher/process/signals.h"
#include "launcher/report/failure.h"
#include "launcher/report/output.h"
#include "launcher/serve/joined_machines.h"
#include "launcher/supervise/agent_set.h"
#include "launcher/supervise/input_forwarder.h"
#include "launcher/supervise/store_events.h"

namespace bp::launcher {

struct Generation {
  int number = 0;   // how many there were before
  std::string job;  // its name
};

// How a generation ended.
struct Ending {
  int exit_code = 0;
  bool ran = false;                // its ranks were started
  int stop_signal = 0;             // that asked bprun to stop, or warned it: SIGUSR1, SIGUSR2
  std::optional<Failure> failure;  // has been printed
  std::string next;                // the command to go on with after it
};

class Supervisor {
 public:
  // The first two must outlive it. Starts the agents; throws Error where that is impossible.
  // `machines` is empty unless hosts have come by themselves.
  Supervisor(const Options& options,
             const JobPlan& plan,
             const Generation& generation,
             JoinedMachines machines = {});
  ~Supervisor();
  // Returns once every process of the generation has ended and all is printed. Throws Error where
  // bprun itself cannot go on; the destructor then still stops everything.
  [[nodiscard]] Ending run();

 private:
  using Clock = EventLoop::Clock;

  enum class Phase : std::uint8_t { connecting, probing, preparing, running, finished };

  [[nodiscard]] std::chrono::milliseconds time_to_next_look() const;
  void on_message(std::size_t host, const ToLauncher& message);
  void on_rank(const ToLauncher& message);
  void on_store(const StoreEvent& event);
  void on_signal(int number);

  // After every round of events.
  void advance();
  void probe();
  void prepare();
  void go();
  void supervise();

  void fail(Failure failure);
  void stop_after_failure();
  void ask_to_stop(int signal);
  void kill_ranks(int signal);
  void tell_end_of_grace();
  [[nodiscard]] bool others_go_on() const;
  void tell_lost(int rank);
  void write_out();
  void stop_ranks(int signal, std::chrono::milliseconds grace);
  void suspend();

  [[nodiscard]] std::optional<Failure> never_joined() const;
  [[nodiscard]] std::optional<Failure> silent_too_long() const;
  void warn_of_other_builds();
  [[nodiscard]] FailureReport report() const;
  [[nodiscard]] std::string next_command() const;
  [[nodiscard]] std::map<int, std::string> under_way() const;
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] End farewell() const;
  void kill_adopted() const;

  const Options& options_;
  const JobPlan& plan_;
  const Generation generation_;
  JoinedMachines machines_;
  EventLoop& loop_;
  SignalFd signals_;
  OutputHub output_;
  RootCauseDetector detector_;
  HeartbeatMonitor heartbeats_;
  RankStates ranks_;
  const JobKey key_;
  AgentSet agents_;
  std::unique_ptr<NetworkProbe> probe_;  // which address of each host the others reach
  std::unique_ptr<StoreEvents> store_events_;
  std::unique_ptr<StoreServer> store_;  // after what its listener uses
  std::unique_ptr<InputForwarder> input_;

  Phase phase_ = Phase::connecting;
  Clock::time_point started_{};  // the ranks
  std::optional<Failure> failure_;
  std::chrono::system_clock::time_point failed_at_{};
  std::chrono::milliseconds failed_after_{0};
  std::optional<Clock::time_point> stop_at_;  // after a failure; what ends by itself is not stopped
  std::optional<Clock::time_point> stopping_since_;
  std::chrono::milliseconds stop_took_{0};
  std::optional<Clock::time_point> kill_at_;     // agents then kill what still runs: --grace
  std::optional<Clock::time_point> give_up_at_;  // hosts that have not ended by then are left
  int stop_signal_ = 0;                          // the first that asked us to stop, or warned us
  int stop_requests_ = 0;                        // signals that did
  bool interrupted_ = false;                     // Ctrl-C was among them
};

}  // namespace bp::launcher

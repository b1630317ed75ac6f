// Runs a sweep: starts trials where there are free slots, reads their reports, stops those that the
// rule stops, and writes everything down as it happens.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/process/event_loop.h"
#include "launcher/process/signals.h"
#include "launcher/sweep/driver/host_links.h"
#include "launcher/sweep/driver/pool.h"
#include "launcher/sweep/driver/proposals.h"
#include "launcher/sweep/driver/sweep_settings.h"
#include "launcher/sweep/driver/trial_run.h"
#include "launcher/sweep/driver/trial_table.h"
#include "launcher/sweep/placement/trial_placement.h"
#include "launcher/sweep/state/sweep_state.h"
#include "launcher/sweep/stopping/stopping_rule.h"

namespace bp::launcher::sweep {

// What the display shows of a running sweep.
struct SweepView {
  const TrialTable& trials;
  int all = 0;         // trials of the whole sweep
  int slots = 0;       // of the pool
  int busy = 0;        // of them
  double elapsed = 0;  // seconds since this start
  int ended = 0;       // trials that have ended since this start
};

class Driver {
 public:
  struct Listener {
    std::function<void(const std::string&)> say;      // a line for the user
    std::function<void(const SweepView&)> on_second;  // called about once a second, and at the end
  };

  // `settings` and `state` must outlive this. Throws io.
  Driver(const SweepSettings& settings, SweepState& state, SignalFd& signals, Listener listener);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Blocks until the sweep has ended. Returns the exit code: 0 if no trial failed, else 1. The same
  // sweep can be continued after 130 (SIGINT), 75 (another signal) and 74: its files could not be
  // written, as the listener was told. Throws other errors. Before it throws or returns 74, it asks
  // all trials to stop and waits for them, a few seconds longer than --grace.
  [[nodiscard]] int run();

 private:
  using Clock = EventLoop::Clock;

  [[nodiscard]] int run_to_end();
  void recover();
  void look_at_leftovers();
  void wait_for_slots(int trial);
  void wait_until(int trial, std::chrono::milliseconds delay);
  void propose();
  void promote();
  void schedule();
  void start(const Start& start);
  [[nodiscard]] bool has_ended();
  void on_attempt_fd(int trial);
  void on_ended(int trial, int exit_code);
  void take_all_reports();
  void take(int trial, const std::vector<Report>& reports);
  // How an attempt at a trial has ended.
  struct AttemptEnd {
    int exit_code = 0;
    StopReason stopped = StopReason::none;  // why it was asked to stop
    double seconds = 0;
  };
  void judge(int trial, const AttemptEnd& end);
  void fail_or_restart(int trial, const AttemptEnd& end);
  void stop_trial(int trial, StopReason why);
  static void ask_to_stop(TrialRun& run);
  void stop_all(const std::string& why, int exit_code);
  void abandon(const std::string& why);
  [[nodiscard]] std::string stopping_text() const;
  void check_disk(int trial) const;
  void stop_at_until(int trial);
  void on_signal(int number);
  void handle_requests();
  void handle(const Request& request);
  void check_hosts();
  void on_host(std::size_t host, int cores);
  void on_host_lost(std::size_t host, const std::string& why);
  void on_tick();
  void link_best();
  void show();
  [[nodiscard]] Demand demand_of(int trial) const;
  [[nodiscard]] std::string folder_of(int trial) const;

  const SweepSettings& settings_;
  SweepState& state_;
  Listener listener_;
  EventLoop loop_;
  SignalFd& signals_;
  TrialTable trials_;
  Proposals proposals_;
  StoppingRule rule_;
  Pool pool_;
  std::map<int, TrialRun> running_;
  std::vector<Demand> waiting_;                 // in the order in which they began to wait
  std::map<int, Clock::time_point> delayed_;    // trials that may wait for slots from then on
  std::map<int, Clock::time_point> leftovers_;  // of a killed sweep, whose attempts still end
  std::optional<int> ending_;                   // the exit code, once the sweep stops its trials
  bool any_host_ = false;                       // that was present since this start
  bool abandoned_ = false;                      // sweep.sqlite must not be used any more
  int signals_received_ = 0;
  int ended_ = 0;
  std::string linked_;  // what `best` leads to
  const Clock::time_point started_ = Clock::now();
  Clock::time_point next_look_{};
  Clock::time_point next_show_{};
  std::unique_ptr<HostLinks> links_;
};

}  // namespace bp::launcher::sweep

// Follows the ranks of one generation and decides which failures their ends make. Pure: events and
// times in, failures and lines to print out.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "comm/store/server.h"
#include "launcher/cli/bprun_options.h"
#include "launcher/failure/heartbeat_monitor.h"
#include "launcher/failure/rank_states.h"
#include "launcher/failure/root_cause_detector.h"
#include "launcher/hosts/placement.h"
#include "launcher/protocol/agent_messages.h"
#include "launcher/report/failure_report.h"

namespace bp::launcher {

class RankMonitor {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Both must outlive it.
  RankMonitor(const std::vector<PlacedHost>& placement, const Options& options);

  [[nodiscard]] RankStates& ranks() { return ranks_; }
  [[nodiscard]] const RankStates& ranks() const { return ranks_; }
  // How long a rank may send no heartbeat before the store's server must report it.
  [[nodiscard]] std::chrono::milliseconds silence_limit() const { return heartbeats_.limit(); }

  void rank_ended(const Exited& exited, Time now);
  // Returns the line to print about the event; empty if there is none.
  [[nodiscard]] std::string store_event(const StoreEvent& event, Time now);
  // The whole job was suspended for `stopped`, until now.
  void job_resumed(Time::duration stopped, Time now);

  // The failure of a rank for which the job must end, if there is one and its root cause is known.
  [[nodiscard]] std::optional<Failure> failure(Time now) const;
  // When failure() will have decided about a rank that looks as if it failed; unset if none does.
  [[nodiscard]] std::optional<Time> decides_at() const { return detector_.latest(); }
  // With --on-failure continue: whether a rank still runs or has ended with 0, so that the loss of
  // another does not end the job.
  [[nodiscard]] bool survivors_continue() const;
  // With --on-failure continue, the line to print about a rank that has just ended; else empty.
  [[nodiscard]] std::string loss_line(int rank) const;
  // A line for each rank that sends no heartbeats, except `but`.
  [[nodiscard]] std::vector<std::string> silent_lines(int but, Time now) const;
  [[nodiscard]] bool any_joined() const { return detector_.any_joined(); }
  [[nodiscard]] std::vector<int> left_without_goodbye() const {
    return detector_.left_without_goodbye();
  }

 private:
  [[nodiscard]] std::optional<Failure> never_joined(Time now) const;
  [[nodiscard]] std::optional<Failure> silent_too_long(Time now) const;

  const Options& options_;
  RankStates ranks_;
  RootCauseDetector detector_;
  HeartbeatMonitor heartbeats_;
};

}  // namespace bp::launcher

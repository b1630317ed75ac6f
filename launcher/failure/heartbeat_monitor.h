// Ranks from which the store's server receives no heartbeats: which to name, and with --kill-silent
// when the job must end. Pure: the caller passes in events and times, and gets lines and failures.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "comm/store/server.h"
#include "launcher/report/failure_report.h"

namespace bp::launcher {

class HeartbeatMonitor {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `kill_after` is the time of --kill-silent. bprun names a rank that is silent for `limit`, or
  // for `kill_after` if that is shorter.
  HeartbeatMonitor(std::optional<std::chrono::milliseconds> kill_after,
                   std::chrono::milliseconds limit);

  // How long a rank may be silent before the store's server must report it.
  [[nodiscard]] std::chrono::milliseconds limit() const { return limit_; }

  // The line to print about an event of the rank that `name` describes; empty if there is none.
  [[nodiscard]] std::string store_event(const StoreEvent& event, const std::string& name, Time now);
  void rank_ended(int rank) { reported_.erase(rank); }
  // The job was suspended until now, which does not count as silence.
  void job_resumed(Time now);

  // A rank that has been silent for longer than --kill-silent allows.
  [[nodiscard]] std::optional<int> too_long(Time now) const;
  [[nodiscard]] Failure failure(int rank, const std::string& name, Time now) const;
  // "rank 2 on b (...) sent no heartbeat for 61.0 s"; empty if the rank is not silent.
  [[nodiscard]] std::string note(int rank, const std::string& name, Time now) const;

 private:
  [[nodiscard]] std::chrono::milliseconds silent_for(Time reported, Time now) const;

  const std::optional<std::chrono::milliseconds> kill_after_;
  const std::chrono::milliseconds limit_;
  std::map<int, Time> reported_;  // the silent ranks, and when the store reported each
};

}  // namespace bp::launcher

// Ranks that give no sign of life: named, and with --kill-silent the end of the job. The store's
// server watches them. Pure: events and times in, words out.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "comm/store/server.h"
#include "launcher/report/failure.h"

namespace bp::launcher {

class HeartbeatMonitor {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `kill_after`: of --kill-silent. `limit`: after which a rank is named.
  HeartbeatMonitor(std::optional<std::chrono::milliseconds> kill_after,
                   std::chrono::milliseconds limit);

  // After how long the store's server has to tell that a rank is silent.
  [[nodiscard]] std::chrono::milliseconds limit() const { return limit_; }

  // The line to print about an event of this rank (`who`); empty where there is nothing to say.
  [[nodiscard]] std::string store_event(const StoreEvent& event, const std::string& who, Time now);
  void rank_ended(int rank) { told_.erase(rank); }
  // The time in which the job was suspended does not count.
  void job_resumed(Time now);

  // A rank that is silent for longer than --kill-silent allows.
  [[nodiscard]] std::optional<int> too_long(Time now) const;
  [[nodiscard]] Failure failure(int rank, const std::string& who, Time now) const;
  // "rank 2 on b (...) gave no sign of life for 61.0 s"; empty where the rank is not silent.
  [[nodiscard]] std::string note(int rank, const std::string& who, Time now) const;

 private:
  [[nodiscard]] std::chrono::milliseconds silent_for(Time told, Time now) const;

  const std::optional<std::chrono::milliseconds> kill_after_;
  const std::chrono::milliseconds limit_;
  std::map<int, Time> told_;  // the silent ranks, and when the store told
};

}  // namespace bp::launcher

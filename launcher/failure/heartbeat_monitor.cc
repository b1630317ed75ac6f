#include "launcher/failure/heartbeat_monitor.h"

#include <algorithm>

#include "base/text.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {

using std::chrono::milliseconds;

HeartbeatMonitor::HeartbeatMonitor(std::optional<milliseconds> kill_after, milliseconds limit)
    : kill_after_(kill_after), limit_(std::min(limit, kill_after.value_or(limit))) {}

std::string HeartbeatMonitor::store_event(const StoreEvent& event,
                                          const std::string& name,
                                          Time now) {
  if (event.kind == StoreEvent::Kind::back && reported_.erase(event.rank) > 0) {
    return concat("bprun: ", name, " sends heartbeats again");
  }
  if (event.kind != StoreEvent::Kind::silent) {
    return "";
  }
  reported_[event.rank] = now;
  if (kill_after_ && *kill_after_ <= limit_) {
    return "";  // the report of the failure will say it
  }
  const std::string next =
      kill_after_ ? concat("after ", elapsed_text(*kill_after_), " the job ends (--kill-silent)")
                  : "--kill-silent would end the job";
  return concat("bprun: warning: ", name, " has sent no heartbeat for ", elapsed_text(limit_),
                ": it is stopped, or its host hangs; ", next);
}

void HeartbeatMonitor::job_resumed(Time now) {
  for (auto& [rank, reported] : reported_) {
    reported = now;
  }
}

milliseconds HeartbeatMonitor::silent_for(Time reported, Time now) const {
  return limit_ + std::chrono::duration_cast<milliseconds>(now - reported);
}

std::optional<int> HeartbeatMonitor::too_long(Time now) const {
  for (const auto& [rank, reported] : reported_) {
    if (kill_after_ && silent_for(reported, now) >= *kill_after_) {
      return rank;
    }
  }
  return std::nullopt;
}

std::string HeartbeatMonitor::note(int rank, const std::string& name, Time now) const {
  const auto silent = reported_.find(rank);
  return silent == reported_.end() ? ""
                                   : concat(name, " sent no heartbeat for ",
                                            elapsed_text(silent_for(silent->second, now)));
}

Failure HeartbeatMonitor::failure(int rank, const std::string& name, Time now) const {
  return {.exit_code = kExitInternal,
          .rank = rank,
          .headline = concat(note(rank, name, now), " (--kill-silent)"),
          .hint = "something stopped it (a signal, a debugger), or its host hangs"};
}

}  // namespace bp::launcher

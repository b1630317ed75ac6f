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
                                          const std::string& who,
                                          Time now) {
  if (event.kind == StoreEvent::Kind::back && told_.erase(event.rank) > 0) {
    return concat("bprun: ", who, " is back");
  }
  if (event.kind != StoreEvent::Kind::silent) {
    return "";
  }
  told_[event.rank] = now;
  if (kill_after_ && *kill_after_ <= limit_) {
    return "";  // the report of the failure says it
  }
  const std::string next =
      kill_after_ ? concat("after ", elapsed_text(*kill_after_), " the job ends (--kill-silent)")
                  : "--kill-silent would end the job";
  return concat("bprun: warning: ", who, " gives no sign of life for ", elapsed_text(limit_),
                ": it is stopped, or its host hangs; ", next);
}

void HeartbeatMonitor::job_resumed(Time now) {
  for (auto& [rank, told] : told_) {
    told = now;
  }
}

milliseconds HeartbeatMonitor::silent_for(Time told, Time now) const {
  return limit_ + std::chrono::duration_cast<milliseconds>(now - told);
}

std::optional<int> HeartbeatMonitor::too_long(Time now) const {
  for (const auto& [rank, told] : told_) {
    if (kill_after_ && silent_for(told, now) >= *kill_after_) {
      return rank;
    }
  }
  return std::nullopt;
}

std::string HeartbeatMonitor::note(int rank, const std::string& who, Time now) const {
  const auto silent = told_.find(rank);
  return silent == told_.end() ? ""
                               : concat(who, " gave no sign of life for ",
                                        elapsed_text(silent_for(silent->second, now)));
}

Failure HeartbeatMonitor::failure(int rank, const std::string& who, Time now) const {
  return {.exit_code = kExitInternal,
          .rank = rank,
          .headline = concat(note(rank, who, now), " (--kill-silent)"),
          .hint = "something stopped it (a signal, a debugger), or its host hangs"};
}

}  // namespace bp::launcher

#include "launcher/failure/rank_monitor.h"

#include "base/text.h"
#include "launcher/failure/rank_texts.h"
#include "launcher/protocol/timing.h"
#include "launcher/report/clock_text.h"
#include "launcher/report/exit_code.h"

namespace bp::launcher {

RankMonitor::RankMonitor(const std::vector<PlacedHost>& placement, const Options& options)
    : options_(options),
      ranks_(placement),
      detector_(ranks_.size()),
      heartbeats_(options.kill_silent, rank_silence(options.lost_after)) {}

void RankMonitor::rank_ended(const Exited& exited, Time now) {
  RankState& rank = ranks_[exited.rank];
  rank.status = exited.status;
  rank.cause_on_host = exited.cause;
  detector_.rank_ended(exited.rank, exited.status, now);
  heartbeats_.rank_ended(exited.rank);
}

std::string RankMonitor::store_event(const StoreEvent& event, Time now) {
  detector_.store_event(event, now);
  return event.rank < 0 ? "" : heartbeats_.store_event(event, ranks_.describe(event.rank), now);
}

void RankMonitor::job_resumed(Time::duration stopped, Time now) {
  heartbeats_.job_resumed(now);
  detector_.time_was_lost(stopped);
}

std::optional<Failure> RankMonitor::failure(Time now) const {
  const auto root_cause = detector_.root_cause(now);
  if (root_cause && !survivors_continue()) {
    return failure_of(*root_cause, ranks_.describe(root_cause->rank));
  }
  if (auto failure = never_joined(now)) {
    return failure;
  }
  return silent_too_long(now);
}

bool RankMonitor::survivors_continue() const {
  return options_.survivors_continue && (ranks_.any_ended_well() || ranks_.running() > 0);
}

std::string RankMonitor::loss_line(int rank) const {
  const int status = ranks_[rank].status.value_or(0);
  return status == 0 || !survivors_continue()
             ? ""
             : concat("bprun: ", ranks_.describe(rank), " ", describe_status(status),
                      "; the others may continue (--on-failure continue)");
}

std::vector<std::string> RankMonitor::silent_lines(int but, Time now) const {
  std::vector<std::string> lines;
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    std::string line = heartbeats_.note(rank, ranks_.describe(rank), now);
    if (!line.empty() && rank != but) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::optional<Failure> RankMonitor::never_joined(Time now) const {
  const auto missing = detector_.missing(now, options_.start_timeout);
  if (missing.empty()) {
    return std::nullopt;
  }
  Failure failure{.exit_code = kExitInternal, .rank = missing.front(), .headline = ""};
  failure.headline =
      concat(ranks_.describe(missing.front()), " has not joined the job within ",
             elapsed_text(options_.start_timeout), " of the first that did (--start-timeout)");
  for (std::size_t i = 1; i < missing.size(); ++i) {
    failure.more.push_back(concat(ranks_.describe(missing[i]), " has not joined either"));
  }
  return failure;
}

std::optional<Failure> RankMonitor::silent_too_long(Time now) const {
  const auto rank = heartbeats_.too_long(now);
  return rank ? std::optional(heartbeats_.failure(*rank, ranks_.describe(*rank), now))
              : std::nullopt;
}

}  // namespace bp::launcher

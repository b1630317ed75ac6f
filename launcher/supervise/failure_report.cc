#include "launcher/supervise/failure_report.h"

#include <signal.h>
#include <sys/wait.h>

#include <utility>

#include "launcher/report/likely_cause.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kReportedLines = 20;

void add_stopped_ranks(FailureReport& report, const RankStates& ranks) {
  report.stop_signal = "SIGTERM";
  for (int rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].stopped_after_failure) {
      report.stopped.push_back(rank);
      const int status = ranks[rank].status.value_or(0);
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        report.stop_signal = "SIGKILL";
      }
    }
  }
}

}  // namespace

FailureReport make_report(const GenerationFailure& failed,
                          const RankStates& ranks,
                          const OutputHub& output,
                          std::chrono::milliseconds stop_took,
                          std::map<int, std::string> collectives_in_flight) {
  FailureReport report;
  report.failure = failed.failure;
  report.when = failed.when;
  report.after = failed.after;
  report.stop_took = stop_took;
  report.under_way = std::move(collectives_in_flight);
  add_stopped_ranks(report, ranks);
  if (const int rank = failed.failure.rank; rank >= 0) {
    report.last_errors = output.last_errors(rank, kReportedLines);
    report.error_file = output.error_file(rank);
    if (report.failure.hint.empty()) {
      report.failure.hint =
          likely_cause({failed.failure.exit_code, ranks[rank].cause_on_host, report.last_errors});
    }
  }
  return report;
}

}  // namespace bp::launcher

// What Supervisor says about a job that has failed.
#include <sys/wait.h>

#include <cstdlib>
#include <utility>

#include "base/resume_words.h"
#include "base/text.h"
#include "comm/store/report_keys.h"
#include "launcher/cli/next_command.h"
#include "launcher/report/likely_cause.h"
#include "launcher/report/quoted.h"
#include "launcher/supervise/supervisor.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kReportedLines = 20;

}  // namespace

FailureReport Supervisor::report() const {
  FailureReport report;
  report.failure = *failure_;
  report.when = failed_at_;
  report.after = failed_after_;
  report.stop_took = stop_took_;
  report.stop_signal = "SIGTERM";
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].stopped_by_us) {
      report.stopped.push_back(rank);
      const int status = ranks_[rank].status.value_or(0);
      if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
        report.stop_signal = "SIGKILL";
      }
    }
  }
  report.under_way = under_way();
  const int rank = failure_->rank;
  if (rank >= 0) {
    report.last_errors = output_.last_errors(rank, kReportedLines);
    report.error_file = output_.error_file(rank);
    if (report.failure.hint.empty()) {
      report.failure.hint =
          likely_cause({failure_->exit_code, ranks_[rank].host_word, report.last_errors});
    }
  }
  if (options_.max_restarts == 0) {
    report.next = next_command();
  }
  return report;
}

// Nothing where no rank was started: then there is something to mend first.
std::string Supervisor::next_command() const {
  if (started_ == Clock::time_point{}) {
    return "";
  }
  const auto told = store_->values(std::string(kResumeArguments));
  return launcher::next_command({options_.own, options_.program},
                                told.empty() ? "" : told.begin()->second);
}

// Ranks have told the store what they are in when it took long or broke.
std::map<int, std::string> Supervisor::under_way() const {
  std::map<int, std::string> collectives;
  if (!store_) {
    return collectives;
  }
  for (auto& [key, text] : store_->values(std::string(kUnderWayKeys))) {
    collectives.emplace(std::atoi(key.c_str() + kUnderWayKeys.size()), quoted_line(text));
  }
  return collectives;
}

}  // namespace bp::launcher

#include "launcher/sweep/commands/write_report.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/sweep/driver/trial_run.h"
#include "launcher/sweep/driver/wall_time.h"
#include "launcher/sweep/report/sweep_page.h"

namespace bp::launcher::sweep {
namespace {

PageTrial page_trial(const TrialRecord& trial) {
  const bool running = trial.state == TrialState::running;
  return {.number = trial.number,
          .state = trial.state,
          .parameters = trial.parameters,
          .result = may_be_best(trial.state) ? trial.result : std::nullopt,
          .step = trial.step,
          .seconds = trial.seconds + (running ? wall_time() - trial.attempt_started : 0),
          .hosts = trial.hosts,
          .reason = trial.reason};
}

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(error)));
}

}  // namespace

PageData page_data_of(SweepReader& sweep) {
  PageData page{.name = sweep.folder(), .metric = sweep.setting("metric")};
  page.direction = sweep.setting("direction") == "min" ? Direction::min : Direction::max;
  for (const TrialRecord& trial : sweep.trials()) page.trials.push_back(page_trial(trial));
  sort_trials(page.trials, page.direction);
  for (std::size_t i = 0; i < page.trials.size() && i < kCurves; ++i) {
    if (page.trials[i].result) page.trials[i].reports = sweep.reports(page.trials[i].number);
  }
  if (!page.trials.empty()) {
    page.best_folder = trial_folder(sweep.folder(), page.trials.front().number);
  }
  return page;
}

std::string write_report(SweepReader& sweep, const std::string& path) {
  const std::string target = path.empty() ? sweep.folder() + "/sweep.html" : path;
  std::error_code ignored;
  const auto type = std::filesystem::status(target, ignored).type();
  if (type != std::filesystem::file_type::not_found &&
      type != std::filesystem::file_type::regular) {
    // A rename would replace a device by a file.
    throw Error(ErrorCode::io, concat("cannot write ", target, ": it is no regular file"));
  }
  const std::string part = concat(target, ".part-", ::getpid());
  const std::string text = sweep_page(page_data_of(sweep));
  errno = 0;
  std::ofstream file(part, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(part.c_str(), target.c_str()) != 0) {
    const int error = errno;
    ::unlink(part.c_str());
    cannot_write(target, error);
  }
  return target;
}

}  // namespace bp::launcher::sweep

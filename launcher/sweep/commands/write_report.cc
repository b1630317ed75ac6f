#include "launcher/sweep/commands/write_report.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "base/system/output_place.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/sweep/driver/trial_run.h"

namespace bp::launcher::sweep {
namespace {

constexpr int kFileMode = 0644;

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw Error(ErrorCode::io, concat("cannot write ", path, ": ", error_text(error)));
}

}  // namespace

PageData page_data_of(SweepReader& sweep) {
  PageData page{.name = sweep.folder(),
                .metric = sweep.setting("metric"),
                .direction = sweep.direction(),
                .trials = sweep.trials()};
  for (TrialRecord& trial : page.trials) {
    trial.seconds = seconds_until_now(trial);
    if (!may_be_best(trial.state)) trial.result.reset();
  }
  sort_trials(page.trials, page.direction);
  for (std::size_t i = 0; i < std::min(page.trials.size(), kCurves); ++i) {
    const TrialRecord& trial = page.trials[i];
    page.reports.push_back(trial.result ? sweep.reports(trial.number) : std::vector<Report>());
  }
  if (!page.trials.empty()) {
    page.best_folder = trial_folder(sweep.folder(), page.trials.front().number);
  }
  return page;
}

std::string write_report(SweepReader& sweep, const std::string& path) {
  std::string target = path.empty() ? sweep.folder() + "/sweep.html" : path;
  if (const std::string problem = output_problem(target); !problem.empty()) {
    throw Error(ErrorCode::invalid_argument, concat("cannot write ", target, ": ", problem));
  }
  const std::string text = sweep_page(page_data_of(sweep));
  const OutputPlace place = output_place(target);
  const std::string part = place.file.empty() ? "" : concat(place.file, ".part-", ::getpid());
  const Fd file =
      part.empty() ? open_directly(target, place)
                   : Fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  if (!file) cannot_write(target, errno);
  const bool written = write_all(file.get(), text.data(), text.size()) == text.size();
  if (part.empty() && written) return target;
  if (!written || std::rename(part.c_str(), place.file.c_str()) != 0) {
    const int error = errno;
    if (!part.empty()) ::unlink(part.c_str());
    cannot_write(target, error);
  }
  return target;
}

}  // namespace bp::launcher::sweep

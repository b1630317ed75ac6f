#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "bp/error.h"
#include "launcher/process/signals.h"
#include "launcher/report/exit_code.h"
#include "launcher/sweep/commands/prepare_sweep.h"
#include "launcher/sweep/commands/sweep_commands.h"
#include "launcher/sweep/commands/sweep_options.h"
#include "launcher/sweep/commands/sweep_progress.h"
#include "launcher/sweep/commands/write_report.h"
#include "launcher/sweep/driver/driver.h"
#include "launcher/sweep/driver/trial_run.h"
#include "launcher/sweep/trial/metric_file.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kTrialsRead = 20;
constexpr std::size_t kNamesShown = 6;

// Returns the end of that line: what the first trials reported instead of the metric.
std::string seen_text(const SweepSettings& settings, const std::vector<TrialRecord>& trials) {
  for (std::size_t i = 0; i < std::min(trials.size(), kTrialsRead); ++i) {
    const TrialRecord& trial = trials[i];
    const std::string folder = trial_folder(settings.folder, trial.number);
    if (!trains(settings, trial.block)) {
      const auto line = refused_report(folder + "/stdout");
      if (line) {
        return concat("; trial ", trial.number, " printed '", *line, "', which is not a report");
      }
      continue;
    }
    const auto names = names_in_metrics(folder + "/run/metrics.jsonl");
    if (names.empty()) continue;
    const std::string nearest = nearest_name(settings.space.metric, names);
    if (!nearest.empty()) return concat("; did you mean ", nearest, "?");
    std::string text = concat("; trial ", trial.number, " has ");
    for (std::size_t name = 0; name < std::min(names.size(), kNamesShown); ++name) {
      text += concat(name == 0 ? "" : ", ", names[name]);
    }
    return text + (names.size() > kNamesShown ? ", ..." : "");
  }
  return "";
}

// "3 trials, the first of them 2, have ended well without the metric loss"
std::string without_text(const std::vector<TrialRecord>& trials, const std::string& metric) {
  const int first = trials.front().number;
  return trials.size() == 1 ? concat("trial ", first, " has ended well without the metric ", metric)
                            : concat(trials.size(), " trials, the first of them ", first,
                                     ", have ended well without the metric ", metric);
}

// Returns a line that says which trials have not reported the metric, how a program reports one,
// and what they reported in its place; "" if all that have ended well have reported it, or SPACE
// needs no metric.
std::string missing_metric_text(const SweepSettings& settings, SweepReader& sweep) {
  const std::string& metric = settings.space.metric;
  std::vector<TrialRecord> trials = sweep.trials();
  const auto reported = [](const TrialRecord& trial) {
    return trial.result && std::isfinite(*trial.result);
  };
  const bool any = std::ranges::any_of(trials, reported);
  if (any) {
    std::erase_if(trials, [&](const TrialRecord& trial) {
      return reported(trial) || trial.state != TrialState::finished;
    });
  }
  if (metric.empty() || trials.empty()) return "";
  return concat(any ? without_text(trials, metric) : "no trial has reported the metric " + metric,
                ". A program reports it by lines 'bp: metric VALUE STEP' on stdout; of bert_train "
                "it is read from metrics.jsonl",
                seen_text(settings, trials));
}

// Returns what the last line says of the page. One that cannot be written does not make the sweep
// fail: bprun sweep report writes it later.
std::string report_text(const std::string& folder) {
  try {
    SweepReader sweep(folder);
    return concat("; report ", write_report(sweep, ""));
  } catch (const Error& error) {
    return concat("; ", error.what());
  }
}

int dry_run(const SweepOptions& given) {
  const auto prepared = prepare_sweep(given, -1);
  if (const auto* exit = std::get_if<EarlyExit>(&prepared)) return exit->print();
  return sweep_dry_run(std::get<SweepSettings>(prepared), given.json, given.estimate);
}

std::variant<SweepSettings, EarlyExit> prepare_unless_stopped(const SweepOptions& given,
                                                              SignalFd& signals) try {
  return prepare_sweep(given, signals.fd());
} catch (const Error& error) {
  if (error.code() != ErrorCode::aborted) throw;
  const int number = signals.read().front();
  return EarlyExit{number == SIGINT ? kExitInterrupted : kExitTemporary,
                   concat("bprun sweep: ", signal_name(number), ": no trial has started")};
}

}  // namespace

int run_sweep(const std::vector<std::string>& arguments) {
  const auto options = parse_sweep_options(arguments);
  if (const auto* exit = std::get_if<EarlyExit>(&options)) {
    return exit->print();
  }
  const auto& given = std::get<SweepOptions>(options);
  if (given.dry_run) return dry_run(given);
  SignalFd signals{SIGINT, SIGTERM, SIGHUP};  // from here on a signal ends the sweep with a line
  const auto prepared = prepare_unless_stopped(given, signals);
  if (const auto* exit = std::get_if<EarlyExit>(&prepared)) {
    return exit->print();
  }
  const auto& settings = std::get<SweepSettings>(prepared);
  ignore_broken_pipes();
  SweepState state(settings.folder);
  check_same_sweep(state, settings, given.space);
  remove_relay_folder(state.setting("relay_folder"));
  SweepProgress progress(settings.space.metric, direction_of(settings), given.quiet);
  Driver driver(settings, state, signals,
                {[&](const std::string& line) { progress.say(line); },
                 [&](const SweepView& view) { progress.show(view); }});
  const int code = driver.run();
  if (code == kExitOutputLost) {
    progress.say(
        "the sweep has stopped; once its folder can be written, the same command continues it");
    return code;
  }
  if (code == 0 || code == 1) {
    SweepReader sweep(settings.folder);
    if (const std::string text = missing_metric_text(settings, sweep); !text.empty()) {
      progress.say(text);
    }
  }
  progress.finish(code == 0 || code == 1 ? concat("; bprun sweep status ", settings.folder,
                                                  report_text(settings.folder))
                                         : std::string("; the same command continues the sweep"));
  return code;
}

}  // namespace bp::launcher::sweep

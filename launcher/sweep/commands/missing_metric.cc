#include "launcher/sweep/commands/missing_metric.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/nearest.h"
#include "base/text.h"
#include "launcher/sweep/driver/trial_run.h"
#include "launcher/sweep/trial/seen_metrics.h"

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
        return concat("; trial ", trial.number, " printed '", *line, "', which is no report");
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

}  // namespace

std::string missing_metric_text(const SweepSettings& settings, SweepReader& sweep) {
  const std::string& metric = settings.space.metric;
  if (metric.empty() || !sweep.best(1, direction_of(settings)).empty()) {
    return "";
  }
  const auto trials = sweep.trials();
  const auto reported = [](const TrialRecord& trial) { return trial.result.has_value(); };
  if (std::ranges::any_of(trials, reported)) {  // a trial that failed later
    return "";
  }
  return concat(
      "no trial has reported the metric ", metric,
      ". A program reports it by lines 'bp: metric VALUE STEP' on stdout; of bert_train it "
      "is read from metrics.jsonl",
      seen_text(settings, trials));
}

}  // namespace bp::launcher::sweep

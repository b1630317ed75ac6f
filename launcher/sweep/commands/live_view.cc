#include "launcher/sweep/commands/live_view.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/text.h"
#include "launcher/sweep/driver/wall_time.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::ptrdiff_t kBest = 3;

LiveTrial live_trial(const TrialRecord& trial) {
  return {.number = trial.number,
          .result = trial.result,
          .step = trial.step,
          .seconds = seconds_until_now(trial),
          .what = shown(trial.parameters)};
}

}  // namespace

LiveTable live_table_of(const SweepView& view, const std::string& metric, Direction direction) {
  LiveTable table{.metric = metric};
  std::vector<const TrialRecord*> reported;
  double seconds = 0;
  int finished = 0;
  for (int i = 0; i < view.trials.size(); ++i) {
    const TrialRecord& trial = view.trials[i];
    if (trial.result && may_be_best(trial.state)) reported.push_back(&trial);
    if (trial.state == TrialState::running) table.running.push_back(live_trial(trial));
    if (trial.state == TrialState::failed) {
      table.failed.push_back(live_trial(trial));
      if (!trial.reason.empty()) table.failed.back().what = trial.reason;
    }
    if (trial.state != TrialState::finished) continue;
    seconds += trial.seconds;
    ++finished;
  }
  const auto best = std::min(kBest, static_cast<std::ptrdiff_t>(reported.size()));
  std::partial_sort(reported.begin(), reported.begin() + best, reported.end(),
                    [&](const TrialRecord* a, const TrialRecord* b) {
                      if (is_better(direction, *a->result, *b->result)) return true;
                      if (is_better(direction, *b->result, *a->result)) return false;
                      return a->number < b->number;
                    });
  for (std::ptrdiff_t i = 0; i < best; ++i) {
    const TrialRecord& trial = *reported[static_cast<std::size_t>(i)];
    table.best.push_back(live_trial(trial));
    table.best.back().step = trial.result_step;
  }
  std::stable_sort(table.running.begin(), table.running.end(),
                   [](const LiveTrial& a, const LiveTrial& b) { return a.seconds > b.seconds; });
  std::reverse(table.failed.begin(), table.failed.end());
  if (finished > 0) {
    for (LiveTrial& trial : table.running) trial.left = seconds / finished - trial.seconds;
  }
  return table;
}

}  // namespace bp::launcher::sweep

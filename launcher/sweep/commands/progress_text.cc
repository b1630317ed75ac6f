#include "launcher/sweep/commands/progress_text.h"

#include "base/text.h"
#include "launcher/report/clock_text.h"

namespace bp::launcher::sweep {

// The remaining time supposes that trials go on ending as fast as since this start.
std::string progress_text(const SweepView& view, const std::string& metric) {
  const TrialTable& trials = view.trials;
  const int failed = trials.count(TrialState::failed);
  const int skipped = trials.count(TrialState::skipped);
  const int ended =
      trials.count(TrialState::finished) + trials.count(TrialState::stopped) + failed + skipped;
  const int running = trials.count(TrialState::running);
  std::string text = concat(ended, " of ", view.all, view.all == 1 ? " trial" : " trials", " ended",
                            failed > 0 ? concat(" (", failed, " failed)") : std::string(),
                            skipped > 0 ? concat(" (", skipped, " skipped)") : std::string());
  if (running > 0) {
    text += concat(", ", running, running == 1 ? " runs" : " run", " on ", view.busy, " of ",
                   view.slots, " slots");
  }
  if (view.ended > 0 && ended < view.all && running > 0) {
    const double left = view.elapsed / view.ended * (view.all - ended);
    text += concat("; about ", elapsed_text(left), " left");
  }
  if (const TrialRecord* best = trials.best(); best != nullptr && !metric.empty()) {
    text += concat("; best ", metric, " ", *best->result, " (trial ", best->number, ")");
  }
  return text;
}

}  // namespace bp::launcher::sweep

#include "trainer/train/loop/early_stop.h"

#include <cmath>

#include "base/text.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

// Returns how much better `score` is than `other`.
double gain(double score, double other, const MainScore& metric) {
  return metric.higher_is_better ? score - other : other - score;
}

}  // namespace

const char* name_of(RunEnd end) {
  switch (end) {
    case RunEnd::steps:
      return "steps";
    case RunEnd::patience:
      return "patience";
    case RunEnd::target:
      return "target-score";
    case RunEnd::max_time:
      return "max-time";
  }
  return "?";
}

EarlyStop::EarlyStop(const EarlyStopOptions& options,
                     const MainScore& metric,
                     const Improvement& before)
    : options_(options), metric_(metric), improvement_(before) {}

void EarlyStop::evaluated(const EvaluationSummary& dev) {
  const double score = dev.at(metric_.key);
  improvement_.last.reset();
  if (std::isfinite(score)) improvement_.last = score;
  const std::optional<double>& best = improvement_.best;
  const bool better =
      improvement_.last && (!best || gain(score, *best, metric_) > options_.min_improvement);
  if (better) improvement_.best = score;
  improvement_.without = better ? 0 : improvement_.without + 1;
}

bool EarlyStop::reached() const {
  return options_.target && improvement_.last &&
         gain(*improvement_.last, *options_.target, metric_) >= 0;
}

std::optional<RunEnd> EarlyStop::reason(double elapsed) const {
  if (reached()) return RunEnd::target;
  if (options_.patience > 0 && improvement_.without >= options_.patience) return RunEnd::patience;
  const auto most = static_cast<double>(options_.max_time.count());
  if (most > 0 && elapsed >= most) return RunEnd::max_time;
  return std::nullopt;
}

std::string EarlyStop::explain(RunEnd end) const {
  switch (end) {
    case RunEnd::steps:
      return "all steps are done";
    case RunEnd::patience:
      return concat("the ", metric_.key, " of dev did not improve in ", improvement_.without,
                    improvement_.without == 1 ? " evaluation" : " evaluations in a row",
                    " (--patience ", options_.patience, ")");
    case RunEnd::target:
      return concat("the ", metric_.key, " of dev, ", brief(improvement_.last.value_or(NAN)),
                    ", reaches --target-score ", brief(options_.target.value_or(NAN)));
    case RunEnd::max_time:
      return concat("the ", clock_text(options_.max_time), " of --max-time have passed");
  }
  return "";
}

}  // namespace bp::trainer

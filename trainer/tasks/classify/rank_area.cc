#include "trainer/tasks/classify/rank_area.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace bp::trainer {

double roc_auc(std::vector<RankedSample> samples) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto is_nan = [](const RankedSample& sample) { return std::isnan(sample.score); };
  if (std::ranges::any_of(samples, is_nan)) return kNone;
  std::ranges::sort(samples, {}, &RankedSample::score);
  std::int64_t positives = 0;
  std::int64_t negatives = 0;
  std::int64_t half_pairs = 0;  // twice the pairs in the right order
  for (std::size_t begin = 0, end = 0; begin < samples.size(); begin = end) {
    std::int64_t equal[2] = {};  // of samples with this score, by `positive`
    while (end < samples.size() && samples[end].score == samples[begin].score) {
      ++equal[samples[end++].positive ? 1 : 0];
    }
    half_pairs += equal[1] * (2 * negatives + equal[0]);
    positives += equal[1];
    negatives += equal[0];
  }
  if (positives == 0 || negatives == 0) return kNone;
  return static_cast<double>(half_pairs) /
         (2 * static_cast<double>(positives) * static_cast<double>(negatives));
}

RankCurves rank_curves(std::vector<RankedSample> samples) {
  if (std::isnan(roc_auc(samples))) return {};
  std::ranges::sort(samples, std::ranges::greater{}, &RankedSample::score);
  const auto positives = static_cast<double>(
      std::ranges::count_if(samples, [](const RankedSample& one) { return one.positive; }));
  const double negatives = static_cast<double>(samples.size()) - positives;
  RankCurves curves{.roc = {{0, 0}}};
  double right = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    right += samples[i].positive ? 1 : 0;
    if (i + 1 < samples.size() && samples[i + 1].score == samples[i].score) continue;
    const auto predicted = static_cast<double>(i + 1);
    curves.roc.push_back({(predicted - right) / negatives, right / positives});
    curves.precision.push_back({right / positives, right / predicted});
  }
  return curves;
}

}  // namespace bp::trainer

#include "trainer/report/evaluation_summary.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bp::trainer {

double EvaluationSummary::at(std::string_view key) const {
  const auto found = std::ranges::find(scores, key, &std::pair<std::string, double>::first);
  return found == scores.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

bool better(const EvaluationSummary& a, const EvaluationSummary& b, const MainScore& main) {
  const double sign = main.higher_is_better ? 1 : -1;
  const double own = sign * a.at(main.key);
  const double other = sign * b.at(main.key);
  if (std::isnan(other) && !std::isnan(own)) return true;
  return own > other || (own == other && a.at("loss") < b.at("loss"));
}

}  // namespace bp::trainer

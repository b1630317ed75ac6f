// How exactly a share is known from a sample.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace bp::trainer {

struct Interval {
  double low = 0;
  double high = 1;
};

// Returns Wilson's 95 % confidence interval of the share `right` / `samples`; 0 to 1 without
// samples.
[[nodiscard]] inline Interval wilson_interval(std::int64_t right, std::int64_t samples) {
  if (samples == 0) return {};
  constexpr double kZ = 1.959963984540054;  // 97.5 % of a normal distribution are below it
  const auto n = static_cast<double>(samples);
  const double share = static_cast<double>(right) / n;
  const double centre = share + kZ * kZ / (2 * n);
  const double reach = kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {std::max((centre - reach) / scale, 0.0), std::min((centre + reach) / scale, 1.0)};
}

}  // namespace bp::trainer

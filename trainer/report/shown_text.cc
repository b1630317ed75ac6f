#include "trainer/report/shown_text.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "trainer/common/numbers.h"

namespace bp::trainer {

std::string counted(std::int64_t n, const std::string& singular) {
  return concat(with_commas(n), ' ', singular, n == 1 ? "" : "s");
}

std::string percent_text(std::int64_t part, std::int64_t whole) {
  constexpr double kWhole = 100;
  const double share = whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  return fixed(kWhole * share, 1) + " %";
}

std::string rate_text(double per_second) {
  constexpr double kLargest = 1e15;
  if (!(per_second >= 100 && per_second < kLargest)) {
    return fixed(per_second, per_second >= 1 ? 1 : 3);
  }
  return with_commas(std::llround(per_second));
}

std::string score_text(double score) {
  constexpr double kLarge = 1e6;
  if (!std::isfinite(score)) return "-";
  return std::abs(score) < kLarge ? fixed(score, 4) : brief(score);
}

std::string clock_text(std::chrono::seconds duration) {
  const auto seconds = std::max<std::int64_t>(duration.count(), 0);
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3600;
  const auto two_digits = [](std::int64_t n) { return concat(n < 10 ? "0" : "", n); };
  if (seconds < kHour) {
    return concat(seconds / kMinute, ':', two_digits(seconds % kMinute));
  }
  return concat(seconds / kHour, ':', two_digits(seconds % kHour / kMinute), ':',
                two_digits(seconds % kMinute));
}

}  // namespace bp::trainer

#include "trainer/tasks/regress/target_scale.h"

#include <cmath>
#include <optional>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/refuse.h"
#include "base/report/escape.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/model/files/json_reading.h"

namespace bp::trainer {
namespace {

constexpr const char* kMean = "bp_target_mean";
constexpr const char* kDeviation = "bp_target_deviation";

double head_number(const EncoderSpec& config, const char* key, double otherwise) {
  const auto found = config.head.find(key);
  if (found == config.head.end()) return otherwise;
  const Json value = Json::parse(found->second);
  if (!value.is_number()) refuse(concat("'", key, "' is ", shown(value), "; it must be a number"));
  return value.get<double>();
}

}  // namespace

void TargetMoments::add(double target) {
  const double before = target - mean_;
  mean_ += before / static_cast<double>(++count_);
  squares_ += before * (target - mean_);
}

TargetScale TargetMoments::scale() const {
  constexpr double kLarge = 10;
  constexpr double kSmall = 0.1;
  const double deviation = count_ == 0 ? 0 : std::sqrt(squares_ / static_cast<double>(count_));
  const bool usual = std::abs(mean_) <= kLarge && deviation >= kSmall && deviation <= kLarge;
  if (usual || !(deviation > 0) || !std::isfinite(deviation)) return {};
  return {.mean = mean_, .deviation = deviation};
}

std::vector<std::string> names_of(const TargetScale& scale) {
  if (!scale.standardises()) return {};
  return {number_text(scale.mean), number_text(scale.deviation)};
}

TargetScale scale_of(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  const std::optional<double> mean = number_of(names.front());
  const std::optional<double> deviation = number_of(names.back());
  if (names.size() != 2 || !mean || !deviation || !(*deviation > 0)) {
    throw InputError(65, "the store has names that are not a mean and a deviation of targets",
                     "prepare it again with --rebuild");
  }
  return {.mean = *mean, .deviation = *deviation};
}

std::map<std::string, std::string> keys_of(const TargetScale& scale) {
  if (!scale.standardises()) return {};
  return {{kMean, number_text(scale.mean)}, {kDeviation, number_text(scale.deviation)}};
}

TargetScale scale_of(const EncoderSpec& config) {
  const TargetScale scale{.mean = head_number(config, kMean, 0),
                          .deviation = head_number(config, kDeviation, 1)};
  if (!(scale.deviation > 0)) refuse(concat("'", kDeviation, "' must be above 0"));
  return scale;
}

std::string text_of(const TargetScale& scale) {
  if (!scale.standardises()) return "";
  return concat("standardised: mean ", brief(scale.mean), ", deviation ", brief(scale.deviation));
}

}  // namespace bp::trainer

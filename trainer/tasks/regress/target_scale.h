// Targets far from 0, or far from each other, are standardised: the model learns how many
// deviations they are above the mean. Weights begin near 0, so it would need many steps to reach
// such numbers, and steps of any size would be too small or too large for it. Does not use
// LibTorch.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trainer/model/config.h"

namespace bp::trainer {

// The targets of a model. By default they are as its outputs.
struct TargetScale {
  double mean = 0;
  double deviation = 1;
  bool operator==(const TargetScale&) const = default;

  [[nodiscard]] bool standardises() const { return *this != TargetScale(); }
  [[nodiscard]] double output_of(double target) const { return (target - mean) / deviation; }
  [[nodiscard]] double target_of(double output) const { return mean + deviation * output; }
};

// Finds the scale of targets, which are added one after the other.
class TargetMoments {
 public:
  void add(double target);
  // Returns the default unless the mean or the deviation is over 10, or the deviation below 0.1.
  [[nodiscard]] TargetScale scale() const;

 private:
  std::int64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // of the differences from the mean
};

// A store keeps the scale as its names; without any, it is the default. Throws InputError (65) for
// other names.
[[nodiscard]] std::vector<std::string> names_of(const TargetScale& scale);
[[nodiscard]] TargetScale scale_of(const std::vector<std::string>& names);

// The same in config.json, in keys of bp's. Throws invalid_argument for values that are not
// numbers, and for a deviation that is not above 0.
[[nodiscard]] std::map<std::string, std::string> keys_of(const TargetScale& scale);
[[nodiscard]] TargetScale scale_of(const EncoderSpec& config);

// Returns "standardised: mean 2500, deviation 1443", or "".
[[nodiscard]] std::string text_of(const TargetScale& scale);

}  // namespace bp::trainer

#include "comm/torch/loss_scale.h"

#include <cmath>

#include "base/text.h"
#include "bp/error.h"

namespace bp {

LossScale::LossScale(const LossScaling& options) : options_(options) {
  const bool possible = std::isfinite(options.initial) && options.initial >= 0 &&
                        options.growth >= 1 && std::isfinite(options.growth) &&
                        options.backoff > 0 && options.backoff < 1 && options.interval > 0;
  if (!possible) {
    throw Error(
        ErrorCode::invalid_argument,
        concat("DistributedOptimizer: loss_scaling with initial ", options.initial, ", growth ",
               options.growth, ", backoff ", options.backoff, ", interval ", options.interval,
               ": initial is positive or 0 for none, growth at least 1, backoff between 0 "
               "and 1, interval positive"));
  }
  if (is_used()) {
    value_ = options.initial;
  }
}

double LossScale::update(bool overflow) {
  if (!is_used()) {
    return 1;
  }
  ++good_windows_;
  if (!overflow && good_windows_ < options_.interval) {
    return 1;
  }
  const double before = value_;
  const double wanted = before * (overflow ? options_.backoff : options_.growth);
  good_windows_ = 0;
  // Beyond these bounds a factor no longer keeps gradients in range.
  if (wanted >= 1.0 / 65536 && wanted <= 0x1p60) {
    value_ = wanted;
  }
  return value_ / before;
}

void LossScale::restore(double value, std::int64_t good_windows) {
  if (is_used()) {
    value_ = value;
    good_windows_ = good_windows;
  }
}

}  // namespace bp

// The factor on the loss that keeps small gradients in the range of f16. It grows after good
// windows and shrinks after an overflow, so ranks that have the same windows have the same factor.
#pragma once

#include <cstdint>

#include "bp/torch/distributed_optimizer.h"

namespace bp {

class LossScale {
 public:
  // Throws invalid_argument for impossible options.
  explicit LossScale(const LossScaling& options);

  [[nodiscard]] bool is_used() const { return options_.initial > 0; }
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] std::int64_t good_windows() const { return good_windows_; }

  // A window has ended. Returns the number by which it has multiplied the factor.
  double update(bool overflow);
  void restore(double value, std::int64_t good_windows);

 private:
  LossScaling options_;
  double value_ = 1;
  std::int64_t good_windows_ = 0;  // since the factor last changed
};

}  // namespace bp

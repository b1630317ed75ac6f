#include "trainer/train/loop/save_rule.h"

#include <cmath>

namespace bp::trainer {

SaveRule::SaveRule(const SaveEvery& every,
                   std::int64_t rows,
                   const EpochPosition& start,
                   std::function<Clock::time_point()> now)
    : every_(every), rows_(rows), at_(start), now_(std::move(now)), last_(now_()) {}

bool SaveRule::due(std::int64_t step, const EpochPosition& end) {
  const EpochPosition begin = std::exchange(at_, end);
  switch (every_.by) {
    case SaveBy::steps:
      return step % every_.steps == 0;
    case SaveBy::epochs:
      return parts_done(end) > parts_done(begin);
    case SaveBy::time:
      return now_() - last_ >= every_.time;
    case SaveBy::never:
      return false;
  }
  return false;
}

std::int64_t SaveRule::parts_done(const EpochPosition& at) const {
  constexpr double kRounding = 1e-9;  // 0.3 of three parts of 0.1
  const double epochs =
      static_cast<double>(at.epoch) + static_cast<double>(at.used) / static_cast<double>(rows_);
  return static_cast<std::int64_t>(std::floor(epochs / every_.epochs + kRounding));
}

}  // namespace bp::trainer

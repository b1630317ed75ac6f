#include "trainer/train/loop/interval_rule.h"

#include <algorithm>
#include <utility>

#include "trainer/optim/schedule.h"

namespace bp::trainer {

IntervalRule::IntervalRule(const Intervals& every,
                           std::int64_t rows,
                           const EpochPosition& start,
                           std::function<Clock::time_point()> now)
    : every_(every), rows_(rows), at_(start), now_(std::move(now)), last_(now_()) {}

bool IntervalRule::goes_by_time() const {
  return std::ranges::count(every_, IntervalBy::time, &Interval::by) > 0;
}

bool IntervalRule::due(std::int64_t step, const EpochPosition& end) {
  const EpochPosition begin = std::exchange(at_, end);
  const auto rows_at = [this](const EpochPosition& at) { return at.epoch * rows_ + at.used; };
  return std::ranges::any_of(every_, [&](const Interval& one) {
    switch (one.by) {
      case IntervalBy::steps:
        return step % one.steps == 0;
      case IntervalBy::epochs:
        return spans_done(one.epochs, end, rows_) > spans_done(one.epochs, begin, rows_);
      case IntervalBy::rows:
        return rows_at(end) / one.rows > rows_at(begin) / one.rows;
      case IntervalBy::time:
        return false;
    }
    return false;
  });
}

bool IntervalRule::time_is_up() const {
  return std::ranges::any_of(every_, [this](const Interval& one) {
    return one.by == IntervalBy::time && now_() - last_ >= one.time;
  });
}

}  // namespace bp::trainer

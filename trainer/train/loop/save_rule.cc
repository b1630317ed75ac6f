#include "trainer/train/loop/save_rule.h"

#include "trainer/optim/schedule.h"

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
      return spans_done(every_.epochs, end, rows_) > spans_done(every_.epochs, begin, rows_);
    case SaveBy::time:
      return now_() - last_ >= every_.time;
    case SaveBy::never:
      return false;
  }
  return false;
}

}  // namespace bp::trainer

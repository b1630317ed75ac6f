// Whether something that comes again and again, such as a checkpoint, is due after a step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "trainer/batches/row_sampler.h"
#include "trainer/options/interval.h"

namespace bp::trainer {

class IntervalRule {
 public:
  using Clock = std::chrono::steady_clock;

  // `rows`: of an epoch. `start`: where the next step begins. Time counts from here and from each
  // done(). A test gives another `now`.
  IntervalRule(const Intervals& every,
               std::int64_t rows,
               const EpochPosition& start,
               std::function<Clock::time_point()> now = Clock::now);

  [[nodiscard]] bool goes_by_time() const;

  // Returns whether it is due after the `step`-th step, which ended at `end`, by what all ranks
  // know: not by time. Must be called after each step.
  [[nodiscard]] bool due(std::int64_t step, const EpochPosition& end);
  // Returns whether it is due by time. Ranks may get different answers.
  [[nodiscard]] bool time_is_up() const;
  // It was done, due or not.
  void done() { last_ = now_(); }

 private:
  Intervals every_;
  std::int64_t rows_;
  EpochPosition at_;  // where the last step ended
  std::function<Clock::time_point()> now_;
  Clock::time_point last_;
};

}  // namespace bp::trainer

// Whether a checkpoint is due after a step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "trainer/batches/row_sampler.h"
#include "trainer/options/save_every.h"

namespace bp::trainer {

class SaveRule {
 public:
  using Clock = std::chrono::steady_clock;

  // `rows`: of an epoch. `start`: where the next step begins. Time counts from here and from each
  // checkpoint. A test gives another `now`.
  SaveRule(const SaveEvery& every,
           std::int64_t rows,
           const EpochPosition& start,
           std::function<Clock::time_point()> now = Clock::now);

  // Returns whether a checkpoint is due after the `step`-th step, which ended at `end`. Must be
  // called after each step. By time, ranks may get different answers.
  [[nodiscard]] bool due(std::int64_t step, const EpochPosition& end);
  // A checkpoint was saved, due or not.
  void saved() { last_ = now_(); }

 private:
  SaveEvery every_;
  std::int64_t rows_;
  EpochPosition at_;  // where the last step ended
  std::function<Clock::time_point()> now_;
  Clock::time_point last_;
};

}  // namespace bp::trainer

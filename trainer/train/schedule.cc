#include "trainer/train/schedule.h"

#include <algorithm>

#include "comm/base/check.h"

namespace bp::trainer {

double learning_rate(const Schedule& schedule, std::int64_t step) {
  BP_CHECK(step >= 0 && step < schedule.steps, "the schedule has no such step");
  const std::int64_t warmup = std::min(schedule.warmup_steps, schedule.steps - 1);
  if (step < warmup) {
    return schedule.peak * static_cast<double>(step + 1) / static_cast<double>(warmup + 1);
  }
  return schedule.peak * static_cast<double>(schedule.steps - step) /
         static_cast<double>(schedule.steps - warmup);
}

double default_learning_rate(int hidden, bool pretrained) {
  if (pretrained) return hidden < 512 ? 1e-4 : 5e-5;
  return 0.128 / hidden;
}

int default_epochs(bool pretrained) { return pretrained ? 3 : 10; }

}  // namespace bp::trainer

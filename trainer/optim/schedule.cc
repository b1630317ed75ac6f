#include "trainer/optim/schedule.h"

#include <algorithm>

#include "base/check.h"

namespace bp::trainer {

Schedule make_schedule(const Options& options, const Sampler& sampler, double peak) {
  const std::int64_t steps =
      options.steps > 0 ? options.steps : options.epochs * sampler.steps_per_epoch();
  return {peak, steps, static_cast<std::int64_t>(options.warmup * static_cast<double>(steps))};
}

std::int64_t total_steps(const Options& options,
                         const Sampler& sampler,
                         std::int64_t step,
                         const EpochPosition& position) {
  return options.steps > 0 ? options.steps : step + sampler.steps_until(options.epochs, position);
}

double learning_rate(const Schedule& schedule, double step) {
  const auto steps = static_cast<double>(schedule.steps);
  BP_CHECK(step >= 0 && step < steps, "the schedule has no such step");
  const double warmup = std::min(static_cast<double>(schedule.warmup_steps), steps - 1);
  if (step < warmup) return schedule.peak * (step + 1) / (warmup + 1);
  return schedule.peak * (steps - step) / (steps - warmup);
}

double default_learning_rate(int hidden, bool pretrained) {
  if (pretrained) return hidden < 512 ? 1e-4 : 5e-5;
  return 0.128 / hidden;
}

int default_epochs(bool pretrained) { return pretrained ? 3 : 10; }

}  // namespace bp::trainer

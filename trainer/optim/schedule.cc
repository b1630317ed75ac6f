#include "trainer/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace bp::trainer {
namespace {

const std::vector<CustomSchedule> kSchedules = {
    {"linear", [](double left) { return left; }},
    {"cosine", [](double left) { return (1 - std::cos(std::numbers::pi * left)) / 2; }},
    {"constant", [](double /*left*/) { return 1.0; }},
};

std::function<double(double)> share_of(const Options& options) {
  for (const auto* const list : {&kSchedules, &options.extensions.schedules}) {
    for (const CustomSchedule& one : *list) {
      if (one.name == options.schedule) return one.share;
    }
  }
  BP_CHECK(false, "there is no such schedule");
}

}  // namespace

std::vector<std::string> schedule_names(const Extensions& extensions) {
  std::vector<std::string> names;
  for (const CustomSchedule& one : kSchedules) names.push_back(one.name);
  for (const CustomSchedule& own : extensions.schedules) names.push_back(own.name);
  return names;
}

Schedule make_schedule(const Options& options, const Sampler& sampler, double peak) {
  const std::int64_t steps =
      options.steps > 0 ? options.steps : options.epochs * sampler.steps_per_epoch();
  return {peak, steps, static_cast<std::int64_t>(options.warmup * static_cast<double>(steps)),
          share_of(options)};
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
  return schedule.peak * schedule.share((steps - step) / (steps - warmup));
}

double default_learning_rate(int hidden, bool pretrained) {
  if (pretrained) return hidden < 512 ? 1e-4 : 5e-5;
  return 0.128 / hidden;
}

int default_epochs(bool pretrained) { return pretrained ? 3 : 10; }

}  // namespace bp::trainer

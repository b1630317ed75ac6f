#include "trainer/optim/rates.h"

#include <algorithm>
#include <cstdint>

namespace bp::trainer {

Rates::Rates(const RunSettings& settings,
             const RowSampler& sampler,
             const PerEpoch<double>& peak,
             const RunPlace& from)
    : sampler_(sampler),
      by_steps_(settings.steps > 0),
      hold_epoch_(settings.force_anneal - 1),
      from_(from),
      steps_(steps_left(settings, sampler, from)),
      schedule_(make_schedule(settings, sampler, peak, from)) {}

// The place is a whole number of steps unless another number of ranks, or another batch, started
// the epoch.
double Rates::steps_at(const RunPlace& place) const {
  if (by_steps_) return static_cast<double>(place.step - from_.step);
  return sampler_.steps_before(place.position) - sampler_.steps_before(from_.position);
}

// From hold_epoch_ on, the rate is that of the last step before it.
double Rates::at(const RunPlace& place) const {
  const std::int64_t epoch = place.position.epoch - from_.position.epoch;
  if (hold_epoch_ < 1 || epoch < hold_epoch_) {
    return learning_rate(schedule_, steps_at(place), epoch);
  }
  const double steps = sampler_.steps_before({from_.position.epoch + hold_epoch_, 0}) -
                       sampler_.steps_before(from_.position);
  return learning_rate(schedule_, std::max(0.0, steps - 1), hold_epoch_ - 1);
}

double Rates::done(const RunPlace& place) const {
  return steps_at(place) / static_cast<double>(steps_);
}

}  // namespace bp::trainer

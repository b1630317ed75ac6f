// The learning rate at each place of a run: the schedule, lists with a value for each epoch, and
// where the schedule began. A function of the place alone, so that a resumed run has the same
// rates.
#pragma once

#include <cstdint>

#include "trainer/optim/schedule.h"

namespace bp::trainer {

class Rates {
 public:
  // `peak`: the highest rate of each epoch since `from`, where the schedule begins: the beginning
  // of the run, or the place at which --reset-schedule began it again. `sampler` must outlive the
  // object.
  Rates(const RunSettings& settings,
        const RowSampler& sampler,
        const PerEpoch<double>& peak,
        const RunPlace& from = {});

  // Returns the rate of the step that begins at `place`.
  [[nodiscard]] double at(const RunPlace& place) const;
  // Returns the share of the run's steps that are done.
  [[nodiscard]] double done(const RunPlace& place) const;

 private:
  [[nodiscard]] double steps_at(const RunPlace& place) const;

  const RowSampler& sampler_;
  bool by_steps_;  // the run ends after a number of steps, not of epochs
  std::int64_t hold_epoch_;
  RunPlace from_;
  std::int64_t steps_;  // of the run
  Schedule schedule_;
};

}  // namespace bp::trainer

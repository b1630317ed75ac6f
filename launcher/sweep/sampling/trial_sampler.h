// Chooses the parameters of the trials of one block.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

// A choice is a combination of parameters. It has `repeat` trials with consecutive indices.
class TrialSampler {
 public:
  // `space` must outlive the sampler. `direction` is needed by tpe only.
  TrialSampler(const Space& space, int block, Direction direction);

  // Returns the number of trials, repeats included. Indices of trials count from 0 to it.
  [[nodiscard]] int trials() const { return choices_ * block_.repeat; }

  // Returns whether next() reads the history. If not, all trials can be planned at once.
  [[nodiscard]] bool learns() const { return block_.sampler == SamplerKind::tpe; }

  // Returns the plan of trial `index`, without its number; nullopt if there are no more trials.
  // `history`: the trials of this block that exist. The result depends on nothing else, so that a
  // resumed sweep proposes what the killed one would have. No sampler ever waits: TPE counts
  // trials that have not ended as bad ones. TPE takes the parameters of repeats from the history.
  [[nodiscard]] std::optional<TrialPlan> next(int index,
                                              std::span<const TrialHistory> history) const;

 private:
  [[nodiscard]] Parameters parameters(int choice, std::span<const TrialHistory> history) const;

  const Block& block_;
  int number_;
  Direction direction_;
  std::vector<Parameters> grid_;  // empty for random and tpe
  int choices_;
};

}  // namespace bp::launcher::sweep

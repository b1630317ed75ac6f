// Chooses the parameters of the trials of one block.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

class Sampler {
 public:
  virtual ~Sampler() = default;

  // Returns the number of trials, repeats included. Indices of trials count from 0 to it.
  [[nodiscard]] virtual int trials() const = 0;

  // Returns whether next() reads the history. If not, all trials can be planned at once.
  [[nodiscard]] virtual bool learns() const { return false; }

  // Returns the plan of trial `index`, without its number; nullopt if there are no more trials.
  // `history`: the trials of this block that exist. The result depends on nothing else, so that a
  // resumed sweep proposes what the killed one would have. No sampler ever waits: TPE counts
  // trials that have not ended as bad ones. Repeats of one choice have consecutive indices; TPE
  // takes their parameters from the history.
  [[nodiscard]] virtual std::optional<TrialPlan> next(
      int index, std::span<const TrialHistory> history) const = 0;
};

// `space` must outlive the sampler. `direction` is needed by tpe only. Throws invalid_argument if a
// grid has more than kMostTrials trials, or none.
inline constexpr int kMostTrials = 1'000'000;
[[nodiscard]] std::unique_ptr<Sampler> make_sampler(const Space& space,
                                                    int block,
                                                    Direction direction);

}  // namespace bp::launcher::sweep

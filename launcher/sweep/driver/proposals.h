// The trials that SPACE still has to give, in the order in which they begin to wait.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "launcher/sweep/driver/sweep_settings.h"
#include "launcher/sweep/sampling/trial_sampler.h"
#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

class Proposals {
 public:
  // `settings` must outlive this.
  explicit Proposals(const SweepSettings& settings);

  // The number of trials of the whole sweep, as far as SPACE and --max-trials say.
  [[nodiscard]] int all() const { return all_; }
  // A trial of this block exists.
  void add(int block);
  // The block that gives the next trial: the one that has given the smallest share of its own.
  // Nothing if there are no more trials.
  [[nodiscard]] std::optional<int> next_block() const;
  // Whether the choice of the next trial depends on the results so far, so that it must be made as
  // late as possible.
  [[nodiscard]] bool learns() const;
  // Plans the next trial without adding it. `history` returns the trials of a block; it is called
  // only for a trial that depends on them.
  [[nodiscard]] std::optional<TrialPlan> next(
      const std::function<std::span<const TrialHistory>(int block)>& history) const;

 private:
  std::vector<TrialSampler> samplers_;  // by block
  std::vector<int> given_;              // by block
  int all_ = 0;
  int all_given_ = 0;
};

}  // namespace bp::launcher::sweep

// Median stopping: Golovin et al., Google Vizier, KDD 2017, section 3.2.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "launcher/sweep/stopping/stopping_rule.h"

namespace bp::launcher::sweep {

// Stops a trial whose best value so far is worse than the median of what the other trials had on
// average when they had trained as much. At least spec.trials others must have trained as much, and
// the trial itself at least spec.min. Trials that run or were stopped count too, because with many
// trials at once few have finished while it matters.
class MedianStopping : public StoppingRule {
 public:
  MedianStopping(const StopSpec& spec, Direction direction) : spec_(spec), direction_(direction) {}

  Decision decide(std::size_t trial, std::span<const TrialHistory> trials) const override;
  std::vector<std::size_t> promotable(std::span<const TrialHistory> /*trials*/) const override {
    return {};
  }

 private:
  StopSpec spec_;
  Direction direction_;
};

}  // namespace bp::launcher::sweep

// Decides which trials go on. Pure: reports in, decisions out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "launcher/sweep/space/metric.h"
#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

enum class Decision : std::uint8_t {
  go_on,
  stop,           // for good
  pause_at_rung,  // may be promoted later
};

// `asha` is asynchronous successive halving: Li et al., A System for Massively Parallel
// Hyperparameter Tuning, MLSys 2020, algorithm 2. Rung k is at min * factor^k. Of the n trials that
// have reached a rung, the best n / factor (rounded down) are promoted: they train to the next
// rung. All others pause there. More trials that reach the rung can promote a paused one later,
// which then continues from its checkpoint. A trial that ends before a rung does not count there;
// of equal values the earlier trial is better.
//
// `median` is median stopping: Golovin et al., Google Vizier, KDD 2017, section 3.2. It stops a
// trial whose best value so far is worse than the median of what the other trials had on average
// when they had trained as much. At least spec.trials others must have trained as much, and the
// trial itself at least spec.min. Trials that run or were stopped count too, because with many
// trials at once few have finished while it matters.
class StoppingRule {
 public:
  StoppingRule(const StopSpec& spec, Direction direction) : spec_(spec), direction_(direction) {}

  // Called when trial `trial` (an index of `trials`) has reported. `trials` are all of the sweep,
  // of all blocks.
  [[nodiscard]] Decision decide(std::size_t trial, std::span<const TrialHistory> trials) const;

  // Returns the paused trials that must be resumed now, before any new trial starts, best first.
  // Call it whenever slots are free. When no trial waits or runs and this is empty, the paused
  // ones have lost: they are stopped.
  [[nodiscard]] std::vector<std::size_t> promotable(std::span<const TrialHistory> trials) const;

 private:
  // How much the trial has trained with its first reports: their number, or the last one's step.
  [[nodiscard]] std::int64_t trained(const TrialHistory& trial, std::size_t reports) const;
  [[nodiscard]] std::int64_t trained(const TrialHistory& trial) const {
    return trained(trial, trial.reports.size());
  }
  // The trial's best value, and the mean of its reports, when it had trained `amount`; nullopt if
  // it has not, or the mean is not a number. With steps, the best value is up to the first report
  // at or after step `amount`.
  [[nodiscard]] std::optional<double> best_at(const TrialHistory& trial, std::int64_t amount) const;
  [[nodiscard]] std::optional<double> mean_at(const TrialHistory& trial, std::int64_t amount) const;
  // The highest rung that the trial has reached; 0 if none.
  [[nodiscard]] std::int64_t rung_of(const TrialHistory& trial) const;
  // The trials to be promoted from the rung, best first.
  [[nodiscard]] std::vector<std::size_t> best_of_rung(std::int64_t rung,
                                                      std::span<const TrialHistory> trials) const;
  [[nodiscard]] Decision by_rung(std::size_t trial, std::span<const TrialHistory> trials) const;
  [[nodiscard]] Decision by_median(std::size_t trial, std::span<const TrialHistory> trials) const;

  StopSpec spec_;
  Direction direction_;
};

}  // namespace bp::launcher::sweep

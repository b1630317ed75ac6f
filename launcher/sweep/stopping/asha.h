// Asynchronous successive halving: Li et al., A System for Massively Parallel Hyperparameter
// Tuning, MLSys 2020, algorithm 2.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "launcher/sweep/stopping/stopping_rule.h"

namespace bp::launcher::sweep {

// Rung k is at min * factor^k. Of the n trials that have reached a rung, the best n / factor
// (rounded down) are promoted: they train to the next rung. All others pause there. More trials
// that reach the rung can promote a paused one later, which then continues from its checkpoint. A
// trial that ends before a rung does not count there; of equal values the earlier trial is better.
class Asha : public StoppingRule {
 public:
  Asha(const StopSpec& spec, Direction direction) : spec_(spec), direction_(direction) {}

  Decision decide(std::size_t trial, std::span<const TrialHistory> trials) const override;
  std::vector<std::size_t> promotable(std::span<const TrialHistory> trials) const override;

  // Returns the highest rung that the trial has reached; 0 if none.
  [[nodiscard]] std::int64_t rung_of(const TrialHistory& trial) const;

 private:
  [[nodiscard]] std::vector<std::size_t> best_of_rung(std::int64_t rung,
                                                      std::span<const TrialHistory> trials) const;

  StopSpec spec_;
  Direction direction_;
};

}  // namespace bp::launcher::sweep

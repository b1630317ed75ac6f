// Decides which trials go on. Pure: reports in, decisions out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "launcher/sweep/space/space.h"
#include "launcher/sweep/space/trial.h"

namespace bp::launcher::sweep {

enum class Decision : std::uint8_t {
  go_on,
  stop,           // for good
  pause_at_rung,  // may be promoted later
};

class StoppingRule {
 public:
  virtual ~StoppingRule() = default;

  // Called when trial `trial` (an index of `trials`) has reported. `trials` are all of the sweep,
  // of all blocks.
  [[nodiscard]] virtual Decision decide(std::size_t trial,
                                        std::span<const TrialHistory> trials) const = 0;

  // Returns the paused trials that must be resumed now, before any new trial starts, best first.
  // Call it whenever slots are free. When no trial waits or runs and this is empty, the paused
  // ones have lost: they are stopped.
  [[nodiscard]] virtual std::vector<std::size_t> promotable(
      std::span<const TrialHistory> trials) const = 0;
};

[[nodiscard]] std::unique_ptr<StoppingRule> make_stopping_rule(const StopSpec& spec,
                                                               Direction direction);

}  // namespace bp::launcher::sweep

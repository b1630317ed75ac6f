// Intervals of training in the text of an option: steps, epochs, rows or a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace bp::trainer {

enum class IntervalBy : std::uint8_t { epochs, steps, rows, time };

struct Interval {
  IntervalBy by = IntervalBy::epochs;
  double epochs = 1;
  std::int64_t steps = 0;
  std::int64_t rows = 0;
  std::chrono::seconds time{0};
};
// Something is due after each of them; never if there are none.
using Intervals = std::vector<Interval>;

[[nodiscard]] inline Interval every_steps(std::int64_t steps) {
  return {.by = IntervalBy::steps, .steps = steps};
}

// Reads 100 (steps) or 0.5e (epochs) of this option. Throws InputError (2) for another text.
[[nodiscard]] Interval parse_every(const std::string& option, const std::string& text);

// Reads one or more of 100 (steps), 0.5e (epochs), 5000r (rows), 10m or 1h30m (time), with commas
// between them, or none. Throws InputError (2) for another text.
[[nodiscard]] Intervals parse_intervals(const std::string& option, const std::string& text);

// How long the learning rate rises: so many steps or epochs, if one of these is above 0, or a share
// of the steps.
struct Warmup {
  double share = 0;
  double epochs = 0;
  std::int64_t steps = 0;
};
// Reads 0.1 (a share of the steps, 0 to 1), 0.5e (epochs) or 100 (steps, from 2 on). Throws
// InputError (2) for another text.
[[nodiscard]] Warmup parse_warmup(const std::string& text);

}  // namespace bp::trainer

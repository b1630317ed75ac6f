// Steps, epochs or a time in the text of an option, such as how often a run saves a checkpoint.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace bp::trainer {

enum class SaveBy : std::uint8_t { epochs, steps, time, never };

struct SaveEvery {
  SaveBy by = SaveBy::epochs;
  double epochs = 1;
  std::int64_t steps = 0;
  std::chrono::seconds time{0};
};

[[nodiscard]] inline SaveEvery every_steps(std::int64_t steps) {
  return {.by = SaveBy::steps, .steps = steps};
}

// Reads 100 (steps) or 0.5e (epochs) of this option. Throws InputError (2) for another text.
[[nodiscard]] SaveEvery parse_every(const std::string& option, const std::string& text);

// How long the learning rate rises: a share of the steps, or epochs if these are above 0.
struct Warmup {
  double share = 0;
  double epochs = 0;
};
// Reads 0.1 (a share of the steps, 0 to 1) or 0.5e (epochs). Throws InputError (2) for another
// text.
[[nodiscard]] Warmup parse_warmup(const std::string& text);

// Reads 100 (steps), 0.5e (epochs), 10m or 1h30m (time), or none. Throws InputError (2) for another
// text.
[[nodiscard]] SaveEvery parse_save_every(const std::string& text);

}  // namespace bp::trainer

// What the terminal says of samples without true answers.
#pragma once

#include <cstdint>
#include <string>

namespace bp::trainer {

struct Unscored {
  std::string name = {};     // of what was to be scored: "test"
  std::string answers = {};  // "labels"
  std::int64_t samples = 0;
  std::string predictions = {};  // the file that holds them, or empty
};

// Returns "test: no labels to compare with, 12 samples; predictions in FILE".
[[nodiscard]] std::string unscored_line(const Unscored& unscored);

}  // namespace bp::trainer

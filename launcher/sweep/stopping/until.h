// --until METRIC<VALUE: the sweep ends when a trial has reached a value.
#pragma once

#include <string>

namespace bp::launcher::sweep {

struct Until {
  std::string metric = {};
  bool below = false;  // "<"; otherwise ">"
  double value = 0;
};

// Throws invalid_argument for anything but NAME<NUMBER or NAME>NUMBER (<= and >= mean the same as <
// and >: equal values are enough for all four).
[[nodiscard]] Until parse_until(const std::string& text);

[[nodiscard]] bool is_reached(const Until& until, double value);

}  // namespace bp::launcher::sweep

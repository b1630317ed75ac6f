// Which of two values of the metric is the better one, and which one ends the sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bp::launcher::sweep {

enum class Direction : std::uint8_t { min, max };

// What a metric's name says: max for names that end in accuracy, f1, auc and the like, min for
// loss, error and the like; nullopt for others.
[[nodiscard]] std::optional<Direction> usual_direction(std::string_view metric);

// A value that is not a number is worse than every other, and not better than itself.
[[nodiscard]] bool is_better(Direction direction, double value, double than);

// --until METRIC<VALUE: the sweep ends when a trial has reached a value.
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

// Which of two values of the metric is the better one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace bp::launcher::sweep {

enum class Direction : std::uint8_t { min, max };

// What a metric's name says: max for names that end in accuracy, f1, auc and the like, min for
// loss, error and the like; nullopt for others.
[[nodiscard]] std::optional<Direction> usual_direction(std::string_view metric);

// A value that is not a number is worse than every other, and not better than itself.
[[nodiscard]] bool is_better(Direction direction, double value, double than);

}  // namespace bp::launcher::sweep

// Numbers as our files write them.
#pragma once

#include <cmath>

#include <nlohmann/json.hpp>

namespace bp::trainer {

// Keys stay in the order in which they are added.
using Json = nlohmann::ordered_json;

// Shortest text that reads back as the same double; whole numbers without ".0"; null when not
// finite.
[[nodiscard]] inline Json number(double value) {
  constexpr double kExactIntegers = 1LL << 53;
  if (!std::isfinite(value)) {
    return nullptr;
  }
  if (std::abs(value) < kExactIntegers && value == std::trunc(value)) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

// Of measured times and rates nobody needs more than three decimals.
[[nodiscard]] inline Json measured(double value) { return number(std::round(value * 1000) / 1000); }

}  // namespace bp::trainer

// Numbers as our files write them and read them back.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bp/error.h"

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

// json[key], which must be a whole number that fits; 1e300 would be turned into one without a word.
// Throws Json::exception when there is none, Error (invalid_argument) when it is something else.
[[nodiscard]] inline std::int64_t count_at(const Json& json, const char* key) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Json& value = json.at(key);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
    throw Error(ErrorCode::invalid_argument,
                concat("\"", key, "\" is ", value.dump(), ", no whole number from 0 up"));
  }
  return value.get<std::int64_t>();
}

// Of measured times and rates nobody needs more than three decimals.
[[nodiscard]] inline Json measured(double value) { return number(std::round(value * 1000) / 1000); }

}  // namespace bp::trainer

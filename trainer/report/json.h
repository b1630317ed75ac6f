// Writes and reads numbers in bert_train's JSON files.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "bp/error.h"

namespace bp::trainer {

// Keeps keys in the order in which they are added.
using Json = nlohmann::ordered_json;

// Parses JSON that bert_train wrote; something may have changed it since. Throws Json::exception if
// it is broken, and Error (invalid_argument) if it is nested deeper than bert_train writes it: Json
// copies objects while they grow, and a deep copy runs out of stack.
[[nodiscard]] inline Json parse_own(const std::string& text) {
  constexpr int kMostLevels = 20;
  return Json::parse(text, [](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    if (depth <= kMostLevels) return true;
    throw Error(ErrorCode::invalid_argument, "it is nested too deeply");
  });
}

// Returns a JSON number whose text is the shortest that reads back as the same double. Whole
// numbers have no ".0". Returns null if `value` is not finite.
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

// Returns the value of `key`, which must be a whole number that fits; a plain conversion would
// silently accept 1e300. Throws Error (invalid_argument) if it is anything else.
[[nodiscard]] inline std::int64_t count_of(const Json& value, const std::string& key) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kMost) {
    throw Error(ErrorCode::invalid_argument,
                concat("\"", key, "\" is ", value.dump(), ", not a whole number from 0 up"));
  }
  return value.get<std::int64_t>();
}

// Of json[key]. Throws Json::exception too, if the key is missing.
[[nodiscard]] inline std::int64_t count_at(const Json& json, const char* key) {
  return count_of(json.at(key), key);
}

// Rounds measured times and rates to three decimals, which are precise enough.
[[nodiscard]] inline Json measured(double value) { return number(std::round(value * 1000) / 1000); }

}  // namespace bp::trainer

// Durations as a user writes them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace bp::trainer {

// Reads 45s, 90m, 2h30m, 1d: whole numbers, each before its unit, the longest unit first and none
// twice. Returns nothing for another text, for 0, and for more than 1000 days.
[[nodiscard]] std::optional<std::chrono::seconds> parse_duration(std::string_view text);

}  // namespace bp::trainer

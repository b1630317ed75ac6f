// Keys and durations in messages.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace bp {

// "step/3" in quotes; what cannot be printed as \x01, and cut after 100 bytes. (Were it called
// quoted, then where <iomanip> is seen std::quoted would be taken for a std::string.)
[[nodiscard]] std::string in_quotes(std::string_view key);
// The first 20 quoted, and how many more there are.
[[nodiscard]] std::string quoted_list(const std::vector<std::string>& keys);
[[nodiscard]] std::string seconds_text(std::chrono::milliseconds duration);  // "0.25 s"

}  // namespace bp

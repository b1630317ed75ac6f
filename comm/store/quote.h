// Formats keys and durations for messages.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace bp {

// Returns the key in quotes, with unprintable bytes as \x01, cut after 100 bytes. (It is not called
// quoted(), because argument-dependent lookup would choose std::quoted() for a std::string where
// <iomanip> is included.)
[[nodiscard]] std::string in_quotes(std::string_view key);
// Returns the first 20 keys in quotes, and the number of the others.
[[nodiscard]] std::string quoted_list(const std::vector<std::string>& keys);
[[nodiscard]] std::string seconds_text(std::chrono::milliseconds duration);  // "0.25 s"

}  // namespace bp

// Prepares texts from outside for display: measures, cuts, repairs and escapes them. Writes
// numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bp {

// Returns the number of code points of valid UTF-8.
[[nodiscard]] std::size_t code_points(std::string_view text);

// Returns at most `limit` code points of `text`. If it cuts something, the last code point is an
// ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t limit);

// Replaces each byte that is not part of valid UTF-8 by U+FFFD.
[[nodiscard]] std::string repaired_utf8(std::string_view text);

// Returns the text on one line, repaired, with a blank in place of each character that would
// control a terminal.
[[nodiscard]] std::string one_line(std::string_view text);

// Escapes & < > " ' for element content and quoted attributes. Repairs UTF-8, and replaces control
// characters that HTML forbids by U+FFFD.
[[nodiscard]] std::string html(std::string_view text);

[[nodiscard]] std::string fixed(double value, int digits);  // as "%.*f"
// Returns the number with at most so many significant digits; whole ones below 1e9 in full: 12345.
[[nodiscard]] std::string brief(double value, int digits = 4);

}  // namespace bp

// Quotes text from other sources (a rank, ssh, another host, a file of the user) in messages. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bp {

inline constexpr std::size_t kMostQuoted = 1000;  // bytes per line

// Returns `text` in a form that cannot control a terminal: control characters and bytes that are
// not UTF-8 become \x1b and the like; line ends and tabs stay. Text without any of those is
// returned unchanged.
[[nodiscard]] std::string printable(std::string_view text);

// Returns `line` in the form for a message: printable, on one line (a line end becomes \n), with at
// most about `most` bytes. A longer line loses its middle, and the number of bytes left out stands
// there.
[[nodiscard]] std::string quoted_line(std::string_view line, std::size_t most = kMostQuoted);

// Applies quoted_line() to each line.
[[nodiscard]] std::vector<std::string> quoted_lines(std::vector<std::string> lines);

}  // namespace bp

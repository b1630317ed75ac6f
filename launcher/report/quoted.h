// Text from elsewhere (a rank, ssh, another host) within the launcher's own messages. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bp::launcher {

inline constexpr std::size_t kMostQuoted = 1000;  // bytes of a line; a terminal has 80 columns

// `text` as something that cannot steer a terminal: control characters and bytes that are not UTF-8
// become \x1b; line ends stay. Text that has none is returned as it is.
[[nodiscard]] std::string printable(std::string_view text);

// `line` for a message: printable, in one line (a line end becomes \n), and of at most about `most`
// bytes: what is left out of the middle is counted in its place.
[[nodiscard]] std::string quoted_line(std::string_view line, std::size_t most = kMostQuoted);

// Each line of `lines`.
[[nodiscard]] std::vector<std::string> quoted_lines(std::vector<std::string> lines);

}  // namespace bp::launcher

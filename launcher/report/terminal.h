// Finds out whether the launcher's own streams can show colours and redrawn lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bp::launcher {

enum class ColourChoice : std::uint8_t { automatic, always, never };

// Returns whether to use colours on `fd`. `automatic` means: if `fd` is a terminal that is not dumb
// and NO_COLOR (https://no-color.org) is not set. stdout and stderr may differ.
[[nodiscard]] bool wants_colours(ColourChoice choice, int fd);

[[nodiscard]] bool can_redraw(int fd);  // whether `fd` is a terminal that is not dumb
[[nodiscard]] int columns_of(int fd);   // the terminal's width; 80 if unknown

inline constexpr std::string_view kNoColour = "\x1b[0m";
inline constexpr std::string_view kRed = "\x1b[1;31m";
inline constexpr std::string_view kYellow = "\x1b[33m";
inline constexpr std::string_view kClearLine = "\r\x1b[K";
[[nodiscard]] std::string_view colour_of_rank(int rank);  // neither red nor yellow

// Returns `text` for one line of a terminal: without control sequences, at most `columns`
// characters.
[[nodiscard]] std::string fit_line(std::string_view text, std::size_t columns);

}  // namespace bp::launcher

// The character between the fields of a CSV file: a comma by RFC 4180, a semicolon from Excel in a
// country with a decimal comma, sometimes a tab or a bar.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// Means: find the separator in the file.
inline constexpr char kFindSeparator = '\0';

// The separators that are tried, the most usual one first.
inline constexpr std::string_view kUsualSeparators = ",;\t|";

// Parses "auto", "comma", "semicolon", "tab", "bar", "colon", "space", or one ASCII character.
// Throws InputError (2) for anything else, and for characters that cannot separate fields: letters,
// digits, quotes and line ends.
[[nodiscard]] char parse_separator(const std::string& word);

[[nodiscard]] std::string separator_name(char separator);  // "comma", "'~'"

// A first line "sep=;", which Excel and other programs write and read.
struct SeparatorLine {
  char separator = kFindSeparator;
  // In bytes, with the line end; 0: `start` does not begin with such a line.
  std::size_t length = 0;
};
[[nodiscard]] SeparatorLine find_separator_line(std::string_view start);

}  // namespace bp::trainer

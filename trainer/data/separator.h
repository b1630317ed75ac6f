// The character between the fields of a CSV file: a comma by RFC 4180, a semicolon where Excel runs
// in a country with a decimal comma, a tab or a bar elsewhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// Stands for: find it by looking at the file.
inline constexpr char kFindSeparator = '\0';

// Those that are looked for, the most usual one first.
inline constexpr std::string_view kUsualSeparators = ",;\t|";

// "auto", "comma", "semicolon", "tab", "bar", "colon", "space", or one ASCII character. Throws
// InputError (2) for anything else, and for characters that cannot separate fields: letters,
// digits, quotes and line ends.
[[nodiscard]] char parse_separator(const std::string& word);

[[nodiscard]] std::string separator_name(char separator);  // "comma", "'~'"

// A first line "sep=;" with its line end, as Excel and other programs write and read it.
struct SeparatorLine {
  char separator = kFindSeparator;
  std::size_t length = 0;  // in bytes; 0: `start` does not begin with such a line
};
[[nodiscard]] SeparatorLine find_separator_line(std::string_view start);

}  // namespace bp::trainer

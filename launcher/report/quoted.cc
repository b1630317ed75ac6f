#include "launcher/report/quoted.h"

#include <algorithm>

#include "base/text.h"

namespace bp::launcher {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

// Returns whether a character of three or four bytes has the shortest form, is not a surrogate and
// not beyond U+10FFFF. Some terminals decode a longer form to a control character.
bool is_code_point(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xe0U:
      return second >= 0xa0U;
    case 0xedU:
      return second < 0xa0U;
    case 0xf0U:
      return second >= 0x90U;
    case 0xf4U:
      return second < 0x90U;
    default:
      return true;
  }
}

// Returns the length of the UTF-8 character at the start of `text`; 0 if it is invalid or controls
// a terminal (U+0000 to U+001F, U+007F to U+009F).
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80U) {
    return first >= 0x20U && first != 0x7fU ? 1 : 0;
  }
  const std::size_t length = first >= 0xf5U   ? 0
                             : first >= 0xf0U ? 4
                             : first >= 0xe0U ? 3
                             : first >= 0xc2U ? 2
                                              : 0;
  if (length == 0 || text.size() < length ||
      !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(length),
                   continues)) {
    return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool control = first == 0xc2U && second < 0xa0U;
  return control || !is_code_point(first, second) ? 0 : length;
}

void add_escaped(std::string& out, char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
}

// Returns at most `most` bytes from the start, cut between characters.
std::string_view head(std::string_view text, std::size_t most) {
  while (most > 0 && most < text.size() && continues(text[most])) {
    --most;
  }
  return text.substr(0, most);
}

std::string_view tail(std::string_view text, std::size_t most) {
  std::size_t begin = text.size() - std::min(most, text.size());
  while (begin < text.size() && continues(text[begin])) {
    ++begin;
  }
  return text.substr(begin);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = character_length(text);
    if (length > 0 || text.front() == '\n' || text.front() == '\t') {
      length = std::max<std::size_t>(length, 1);
      out += text.substr(0, length);
    } else {
      add_escaped(out, text.front());
      length = 1;
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string quoted_line(std::string_view line, std::size_t most) {
  // Escapes only the parts that may be shown, because a line may be megabytes long.
  const std::size_t end = std::min(most / 4, line.size());
  const std::size_t begin = std::min(most - end, line.size() - end);
  const bool whole = begin + end >= line.size();
  const std::string first = printable(whole ? line : head(line, begin));
  const std::string_view last = whole ? std::string_view() : tail(line, end);
  std::string text = first;
  if (!whole) {
    text += concat(" [... ", line.size() - head(line, begin).size() - last.size(),
                   " bytes left out ...] ", printable(last));
  }
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
    text.replace(at, 1, "\\n");
  }
  return text;
}

std::vector<std::string> quoted_lines(std::vector<std::string> lines) {
  for (std::string& line : lines) {
    line = quoted_line(line);
  }
  return lines;
}

}  // namespace bp::launcher

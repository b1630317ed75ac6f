#include "base/quoted.h"

#include <algorithm>

#include "base/hex.h"
#include "base/text.h"
#include "base/utf8.h"

namespace bp {
namespace {

void add_escaped(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  out += "\\x" + to_hex({&byte, 1});
}

// Returns at most `most` bytes from the start, cut between characters.
std::string_view head(std::string_view text, std::size_t most) {
  while (most > 0 && most < text.size() && continues_character(text[most])) {
    --most;
  }
  return text.substr(0, most);
}

std::string_view tail(std::string_view text, std::size_t most) {
  std::size_t begin = text.size() - std::min(most, text.size());
  while (begin < text.size() && continues_character(text[begin])) {
    ++begin;
  }
  return text.substr(begin);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const char c = text.front();
    const std::size_t length = is_control(text) ? 0 : character_length(text);
    if (length > 0 || c == '\n' || c == '\t') {
      out += text.substr(0, std::max<std::size_t>(length, 1));
    } else {
      add_escaped(out, c);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
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

}  // namespace bp

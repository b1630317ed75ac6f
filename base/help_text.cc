#include "base/help_text.h"

#include <algorithm>

namespace bp {
namespace {

// The column in which the text of a line begins: after an option's name, or after the indent.
std::size_t begin_of_text(std::string_view line, std::size_t columns) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const bool option = first < line.size() && line[first] == '-';
  const std::size_t gap = option ? line.find("  ", first) : std::string_view::npos;
  const std::size_t text = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  if (text == std::string_view::npos || text >= columns / 2) {
    return option ? first + 4 : first;
  }
  return text;
}

// Where to break a line: at the last blank that fits. If that is in the first half of the line, at
// the last comma behind it, so that a long list of choices is broken too.
std::size_t break_of(std::string_view line, std::size_t indent, std::size_t columns) {
  const std::size_t blank = line.rfind(' ', columns);
  const std::size_t comma = line.rfind(',', columns - 1);
  const auto serves = [&](std::size_t at) { return at != std::string_view::npos && at > indent; };
  if (serves(blank) && (blank > columns / 2 || !serves(comma) || comma < blank)) {
    return blank;
  }
  return serves(comma) ? comma + 1 : std::string_view::npos;
}

void add_wrapped(std::string& out, std::string line, std::size_t columns) {
  const std::size_t indent = begin_of_text(line, columns);
  while (line.size() > columns) {
    const std::size_t at = break_of(line, indent, columns);
    if (at == std::string_view::npos) {
      break;  // a single word is wider than the line
    }
    out += line.substr(0, at);
    out += '\n';
    const std::size_t next = std::min(line.find_first_not_of(' ', at), line.size());
    line = std::string(indent, ' ') + line.substr(next);
  }
  out += line;
}

}  // namespace

std::string wrap_help(std::string_view help, std::size_t columns) {
  std::string out;
  while (!help.empty()) {
    const std::size_t end = std::min(help.find('\n'), help.size());
    add_wrapped(out, std::string(help.substr(0, end)), columns);
    if (end < help.size()) {
      out += '\n';
    }
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return out;
}

}  // namespace bp

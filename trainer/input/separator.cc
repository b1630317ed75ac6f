#include "trainer/input/separator.h"

#include <algorithm>
#include <array>

#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

struct NamedSeparator {
  std::string_view name;
  char separator;
};

constexpr std::array kNamedSeparators{
    NamedSeparator{"comma", ','}, NamedSeparator{"semicolon", ';'}, NamedSeparator{"tab", '\t'},
    NamedSeparator{"bar", '|'},   NamedSeparator{"colon", ':'},     NamedSeparator{"space", ' '}};

bool can_separate(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  const bool digit = c >= '0' && c <= '9';
  return (c == '\t' || (c >= ' ' && c <= '~')) && !letter && !digit && c != '"';
}

}  // namespace

char parse_separator(const std::string& word) {
  if (word == "auto") return kFindSeparator;
  if (word == "\\t") return '\t';
  std::vector<std::string> names = {"auto"};
  for (const NamedSeparator& named : kNamedSeparators) {
    if (word == named.name) return named.separator;
    names.emplace_back(named.name);
  }
  if (word.size() == 1 && can_separate(word[0])) return word[0];
  const std::string nearest = nearest_name(word, names);
  throw InputError(2, concat("--separator: '", word, "' cannot separate fields"),
                   nearest.size() > 1 && word.size() > 1
                       ? concat("did you mean '", nearest, "'?")
                       : "auto, comma, semicolon, tab, bar, colon, space or one punctuation mark");
}

std::string separator_name(char separator) {
  for (const NamedSeparator& named : kNamedSeparators) {
    if (separator == named.separator) return std::string(named.name);
  }
  return concat("'", separator, "'");
}

SeparatorLine find_separator_line(std::string_view start) {
  const bool quoted = start.starts_with('"');
  std::size_t at = quoted ? 1 : 0;
  constexpr std::string_view kKey = "sep=";
  for (const char wanted : kKey) {
    if (at >= start.size()) return {};
    const char c = start[at++];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != wanted) return {};
  }
  if (at >= start.size() || !can_separate(start[at])) return {};
  const char separator = start[at++];
  if (quoted && (at >= start.size() || start[at++] != '"')) return {};
  if (at < start.size() && start[at] != '\r' && start[at] != '\n') return {};
  if (at < start.size() && start[at] == '\r') ++at;
  if (at < start.size() && start[at] == '\n') ++at;
  return {separator, at};
}

}  // namespace bp::trainer

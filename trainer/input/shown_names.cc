#include "trainer/input/shown_names.h"

#include <algorithm>
#include <cstddef>

#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/common/numbers.h"
#include "trainer/text/unicode.h"

namespace bp::trainer {
namespace {

std::string list(const std::string& before, const std::vector<Field>& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text += i == 0 ? "" : i + 1 == fields.size() ? " and " : ", ";
    text += before + fields[i].name;
  }
  return text;
}

// The code points of a name, decomposed, without blanks around it.
std::vector<char32_t> decomposed(const std::string& name) {
  const std::string text = valid_utf8(without_blanks(name));
  std::vector<char32_t> points;
  for (std::size_t at = 0; at < text.size();) points.push_back(next_code_point(text, at));
  decompose(points);
  return points;
}

}  // namespace

std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  constexpr std::size_t kLongest = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    const std::string& name = names[i];
    text += text.empty() ? "" : ", ";
    const std::string start =
        name.size() <= kLongest ? name : concat(name.substr(0, kLongest), "...");
    const bool plain = !name.empty() && without_blanks(name) == name;
    text += plain ? start : concat("'", start, "'");
  }
  return names.size() <= kMost ? text : concat(text, " and ", names.size() - kMost, " others");
}

std::string hint_for_name(const std::string& wanted,
                          const std::vector<std::string>& names,
                          const std::string& otherwise) {
  for (const std::string& name : names) {
    if (decomposed(name) != decomposed(wanted)) continue;
    if (without_blanks(name) == without_blanks(wanted)) return concat("did you mean '", name, "'?");
    return "the file writes this name in another normal form of Unicode (NFC, NFD): copy it from "
           "there";
  }
  return did_you_mean(wanted, names, otherwise);
}

std::string hint_for_names(const std::string& what, const std::vector<Field>& fields) {
  if (fields.front().fixed) return concat("the task needs these ", what, ": ", list("", fields));
  return concat("name the ", what, " with ", options_of(fields));
}

std::string options_of(const std::vector<Field>& fields) { return list("--", fields); }

std::string needed_text(const std::vector<Field>& fields) {
  if (fields.front().fixed) return hint_for_names("columns", fields);
  return "it needs " + list("a ", fields) + " per row";
}

}  // namespace bp::trainer

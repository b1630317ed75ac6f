#include "trainer/input/shown_names.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"

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

}  // namespace

std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  constexpr std::size_t kLongest = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    const std::string& name = names[i];
    text += text.empty() ? "" : ", ";
    text += name.size() <= kLongest ? name : concat(name.substr(0, kLongest), "...");
  }
  return names.size() <= kMost ? text : concat(text, " and ", names.size() - kMost, " others");
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

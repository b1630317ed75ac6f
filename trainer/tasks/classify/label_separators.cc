#include "trainer/tasks/classify/label_separators.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include "base/text.h"
#include "trainer/common/numbers.h"

namespace bp::trainer {
namespace {

// Returns whether the label has the separator, and all parts are labels.
bool is_joined(std::string_view label, char separator, const std::set<std::string_view>& labels) {
  if (label.find(separator) == std::string_view::npos) return false;
  while (true) {
    const std::size_t end = label.find(separator);
    if (!labels.contains(without_blanks(label.substr(0, end)))) return false;
    if (end == std::string_view::npos) return true;
    label.remove_prefix(end + 1);
  }
}

}  // namespace

const std::vector<std::pair<std::string, char>>& label_separators() {
  static const std::vector<std::pair<std::string, char>> separators = {
      {"bar", '|'}, {"comma", ','}, {"semicolon", ';'}, {"space", ' '}, {"tab", '\t'}};
  return separators;
}

std::string remark_on_joined(const std::vector<std::string>& labels) {
  const std::set<std::string_view> all(labels.begin(), labels.end());
  for (const auto& [name, separator] : label_separators()) {
    const auto joined = std::ranges::find_if(
        labels, [&](const std::string& label) { return is_joined(label, separator, all); });
    if (joined == labels.end()) continue;
    return concat("the label '", *joined,
                  "' consists of other labels, and is a class by itself; "
                  "--multi-label --label-separator ",
                  name, " --rebuild gives a row several");
  }
  return "";
}

std::string remark_on_single(const std::vector<std::string>& labels) {
  for (const auto& [name, separator] : label_separators()) {
    const auto found = std::ranges::find_if(labels, [&](const std::string& label) {
      return label.find(separator) != std::string::npos;
    });
    if (found == labels.end()) continue;
    return concat("no row has more than one label; --label-separator ", name,
                  " --rebuild divides labels such as '", *found, "'");
  }
  return "no row has more than one label; without --multi-label the model gives each text exactly "
         "one";
}

}  // namespace bp::trainer

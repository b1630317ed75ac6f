#include "trainer/tasks/classify/label_remarks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/options/value_text.h"
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

// "the labels 'a' and 'A' and 2 other pairs"
std::string pairs_text(const std::string& first, std::int64_t pairs) {
  return concat(first, pairs == 1   ? ""
                       : pairs == 2 ? " and another pair"
                                    : concat(" and ", pairs - 1, " other pairs"));
}

// Finds labels of which `form` makes the same, says in what they differ and what helps, and leaves
// the first one of each.
template <class Form>
std::string remark_on_same(std::vector<std::string>& labels,
                           const Form& form,
                           const std::string& differ,
                           const std::string& helps) {
  std::map<std::string, std::string> seen;
  std::vector<std::string> distinct;
  std::string first;
  std::int64_t pairs = 0;
  for (const std::string& label : labels) {
    const auto [other, is_new] = seen.emplace(form(label), label);
    if (is_new) {
      distinct.push_back(label);
    } else if (pairs++ == 0) {
      first = concat("the labels '", other->second, "' and '", label, "'");
    }
  }
  labels = std::move(distinct);
  if (pairs == 0) return "";
  return concat(pairs_text(first, pairs), " ", differ, ", and are different classes; ", helps,
                " --rebuild makes them one");
}

// The number as a text that equal numbers share; another label as it is.
std::string as_number(const std::string& label) {
  const std::optional<double> number = written_number(label);
  return number ? number_text(*number) : label;
}

}  // namespace

std::vector<std::string> remarks_on_alike(const std::vector<std::string>& labels) {
  std::vector<std::string> left = labels;
  const bool whole = std::ranges::all_of(labels, [](const std::string& label) {
    const std::optional<double> number = written_number(label);
    return number && std::trunc(*number) == *number;
  });
  const auto trimmed = [](const std::string& label) { return std::string(without_blanks(label)); };
  const auto lower = [&](const std::string& label) { return lower_case(trimmed(label)); };
  std::vector<std::string> remarks = {
      remark_on_same(left, trimmed, "differ only by blanks around them", "--trim-labels"),
      remark_on_same(left, lower, "differ only by upper and lower case", "--label-map FILE"),
      remark_on_same(left, as_number, "are the same number",
                     whole ? "--round-labels" : "--label-map FILE")};
  std::erase(remarks, "");
  return remarks;
}

std::string remark_on_missing(const std::vector<std::string>& labels) {
  constexpr std::array<std::string_view, 5> kMissing{"nan", "n/a", "#n/a", "<na>", "null"};
  for (const std::string& label : labels) {
    if (std::ranges::count(kMissing, lower_case(std::string(without_blanks(label)))) == 0) continue;
    return concat("the label '", label,
                  "' is a class by itself; if it means that a row has none, name the classes: "
                  "--labels A,B --unknown-labels skip --rebuild leaves such rows out");
  }
  return "";
}

std::string remark_on_many(const std::vector<std::string>& labels, const CountedRows& counted) {
  constexpr std::size_t kFew = 20;
  if (labels.size() <= kFew) return "";
  const bool fractions =
      std::ranges::all_of(labels, [](const auto& l) { return written_number(l).has_value(); }) &&
      std::ranges::any_of(labels, [](const auto& l) {
        return std::trunc(*written_number(l)) != *written_number(l);
      });
  if (!fractions && 2 * std::ssize(labels) <= counted.uses) return "";
  return concat(counted.answers, " has ", labels.size(),
                fractions ? " different numbers" : " different labels", " in ", counted.rows,
                " rows, and each is a class by itself; ",
                fractions ? "--round-labels --rebuild rounds them, " : "",
                "--label names another column",
                fractions ? ", --task regress --target learns numbers" : "");
}

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

#include "launcher/hosts/nodelist.h"

#include <algorithm>
#include <string_view>

#include "base/refuse.h"
#include "base/text.h"
#include "launcher/hosts/host.h"

namespace bp::launcher {
namespace {

constexpr int kMostNumber = 999'999'999;

std::string padded(int number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// Expands "1-3,7" or "08-10" to its numbers, padded to the width of the first number of each range.
std::vector<std::string> digits_of(const std::string& text, const std::string& where) {
  std::vector<std::string> all;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string range(rest.substr(0, comma));
    const std::size_t dash = range.find('-');
    const std::string first = range.substr(0, dash);
    const std::string last = dash == std::string::npos ? first : range.substr(dash + 1);
    const std::string what = concat("in '[", text, "]' each");
    const int begin = parse_number(first, what, 0, kMostNumber, where);
    const int end = parse_number(last, what, begin, kMostNumber, where);
    if (static_cast<std::size_t>(end - begin) + all.size() >= kMostHosts) {
      refuse(where, concat("'[", text, "]' stands for more than ", kMostHosts, " hosts"));
    }
    for (int number = begin; number <= end; ++number) all.push_back(padded(number, first.size()));
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::string> split_entries(const std::string& text, const std::string& where) {
  std::vector<std::string> entries(1);
  bool inside = false;
  for (const char c : text) {
    if (c == (inside ? '[' : ']')) refuse(where, concat("an unmatched bracket in '", text, "'"));
    if (c == '[' || c == ']') inside = c == '[';
    if (c == ',' && !inside) {
      entries.emplace_back();
    } else {
      entries.back() += c;
    }
  }
  if (inside) refuse(where, concat("a bracket is not closed in '", text, "'"));
  return entries;
}

std::vector<std::string> expand_ranges(const std::string& name, const std::string& where) {
  std::vector<std::string> names = {""};
  std::string_view rest = name;
  while (true) {
    const std::size_t open = rest.find('[');
    for (std::string& each : names) each += rest.substr(0, open);
    if (open == std::string_view::npos) return names;
    const std::size_t close = std::min(rest.find(']', open), rest.size() - 1);
    const auto numbers = digits_of(std::string(rest.substr(open + 1, close - open - 1)), where);
    if (names.size() * numbers.size() > kMostHosts) {
      refuse(where, concat("'", name, "' stands for more than ", kMostHosts, " hosts"));
    }
    std::vector<std::string> longer;
    for (const std::string& each : names) {
      for (const std::string& number : numbers) longer.push_back(each + number);
    }
    names = std::move(longer);
    rest.remove_prefix(close + 1);
  }
}

std::vector<std::string> parse_nodelist(const std::string& text, const std::string& where) {
  std::vector<std::string> all;
  for (const std::string& entry : split_entries(text, where)) {
    for (std::string& name : expand_ranges(entry, where)) {
      check_host_name(name, where);
      all.push_back(std::move(name));
    }
    if (all.size() > kMostHosts) refuse(where, concat("more than ", kMostHosts, " hosts"));
  }
  return all;
}

std::vector<int> parse_node_counts(const std::string& text, const std::string& where) {
  std::vector<int> counts;
  std::string_view rest = text;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string entry(rest.substr(0, comma));
    const std::size_t open = entry.find("(x");
    const int count = parse_number(entry.substr(0, open), "each count", 1, kMaxSlots, where);
    int times = 1;
    if (open != std::string::npos) {
      if (entry.back() != ')') refuse(where, concat("'", entry, "' is not as 2(x3)"));
      times = parse_number(entry.substr(open + 2, entry.size() - open - 3), "each repetition", 1,
                           static_cast<int>(kMostHosts), where);
    }
    if (counts.size() + static_cast<std::size_t>(times) > kMostHosts) {
      refuse(where, concat("more than ", kMostHosts, " hosts"));
    }
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
    if (comma == std::string_view::npos) return counts;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace bp::launcher

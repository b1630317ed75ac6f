#include "base/options/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <system_error>

#include "base/text.h"

namespace bp {
namespace {

struct TimeUnit {
  std::string_view name;
  std::int64_t milliseconds;
};
constexpr std::array kTimeUnits{TimeUnit{"d", 86'400'000}, TimeUnit{"h", 3'600'000},
                                TimeUnit{"m", 60'000}, TimeUnit{"s", 1000}, TimeUnit{"ms", 1}};
constexpr std::string_view kSizeUnits = "KMG";

}  // namespace

template <class Number>
std::string number_text(Number value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}
template std::string number_text(int);
template std::string number_text(std::int64_t);
template std::string number_text(std::uint64_t);
template std::string number_text(double);

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  constexpr double kMost = 1000 * 86'400'000.0;
  double total = 0;
  if (const auto seconds = number_in<double>(text); seconds && text.find('e') == text.npos) {
    total = *seconds * 1000;
    text = {};
  } else if (text.empty()) {
    return std::nullopt;
  }
  const TimeUnit* next = kTimeUnits.begin();
  while (!text.empty()) {
    double number = 0;
    const char* const all = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), all, number, std::chars_format::fixed);
    const char* const begin = std::find_if(end, all, [](char c) { return c < 'a' || c > 'z'; });
    next = std::ranges::find(next, kTimeUnits.end(), std::string_view(end, begin), &TimeUnit::name);
    if (error != std::errc() || next == kTimeUnits.end() || !(number >= 0)) return std::nullopt;
    total += number * static_cast<double>(next++->milliseconds);
    text = {begin, all};
  }
  if (!(total >= 0 && total <= kMost)) return std::nullopt;
  return std::chrono::milliseconds(static_cast<std::int64_t>(total));
}

std::string duration_text(std::chrono::milliseconds time) {
  std::string text;
  std::int64_t left = time.count();
  for (const TimeUnit& unit : std::span(kTimeUnits).subspan(1)) {  // 24h rather than 1d
    if (left >= unit.milliseconds) text += concat(left / unit.milliseconds, unit.name);
    left %= unit.milliseconds;
  }
  return text.empty() ? "0s" : text;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  const std::size_t unit = text.empty() ? text.npos : kSizeUnits.find(text.back());
  const std::size_t shift = unit == text.npos ? 0 : 10 * (unit + 1);
  const auto number = number_in<std::uint64_t>(text.substr(0, text.size() - (shift > 0 ? 1 : 0)));
  return number && *number <= kMost >> shift ? std::optional(*number << shift) : std::nullopt;
}

std::string option_name(std::string_view word) {
  std::string name = lower_case(std::string(word.substr(0, word.find('='))));
  name.erase(0, std::min(name.find_first_not_of('-'), name.size()));
  std::ranges::replace(name, '_', '-');
  return name;
}

std::optional<std::string> value_of_other_name(const std::vector<std::string>& others,
                                               std::string_view wanted) {
  for (const std::string_view other : others) {
    const std::size_t equals = std::min(other.find('='), other.size());
    if (other.substr(0, equals) != wanted) continue;
    return std::string(other.substr(std::min(equals + 1, other.size())));
  }
  return std::nullopt;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t first = std::min(part.find_first_not_of(kBlanks), part.size());
    parts.emplace_back(part.substr(first, part.find_last_not_of(kBlanks) + 1 - first));
    begin = end + 1;
  }
  return parts;
}

}  // namespace bp

#include "trainer/options/option_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <type_traits>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"

namespace bp::trainer {
namespace {

template <class Number>
std::string bounds_text(double least, double most) {
  const bool bounded = most < kUnbounded;
  return bounded
             ? concat("between ", number_text(Number(least)), " and ", number_text(Number(most)))
             : concat("at least ", number_text(Number(least)));
}

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

template <class Number>
Number parse_number(const NumberText& from, double least, double most) {
  const std::string& text = from.text;
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const auto number = static_cast<double>(value);
  if (error == std::errc() && stop == end && number >= least && number <= most) return value;
  throw InputError(2,
                   concat(from.option, ": '", text, "' is not a ",
                          std::is_floating_point_v<Number> ? "number " : "whole number ",
                          bounds_text<Number>(least, most)),
                   from.hint);
}
template int parse_number(const NumberText&, double, double);
template std::int64_t parse_number(const NumberText&, double, double);
template std::uint64_t parse_number(const NumberText&, double, double);
template double parse_number(const NumberText&, double, double);

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(without_blanks(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::string> parse_list(const std::string& option, std::string_view text) {
  std::vector<std::string> names;
  for (const std::string& one : parts_of(text)) {
    if (one.empty()) {
      throw InputError(2, concat(option, ": '", text, "' has an empty name"),
                       concat("names with commas between them: ", option, " bad,good"));
    }
    if (std::ranges::find(names, one) != names.end()) {
      throw InputError(2, concat(option, ": '", one, "' occurs twice"), "give each name once");
    }
    names.push_back(one);
  }
  return names;
}

bool means_true_or_false(std::string_view value) {
  constexpr std::array<std::string_view, 8> kWords{"true", "false", "yes", "no",
                                                   "on",   "off",   "1",   "0"};
  return std::ranges::count(kWords, value) > 0;
}

}  // namespace bp::trainer

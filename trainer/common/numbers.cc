#include "trainer/common/numbers.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/options/value_text.h"

namespace bp::trainer {
namespace {

// Returns the length of a blank at the start or, with `last`, at the end of `text`; 0 if there is
// none.
std::size_t blank_at(std::string_view text, bool last) {
  constexpr std::string_view kNoBreakSpace = "\xC2\xA0";
  if (last ? text.ends_with(kNoBreakSpace) : text.starts_with(kNoBreakSpace)) {
    return kNoBreakSpace.size();
  }
  constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const bool blank =
      !text.empty() && kBlanks.find(last ? text.back() : text.front()) != std::string_view::npos;
  return blank ? 1 : 0;
}

}  // namespace

std::optional<double> number_of(std::string_view text) {
  const std::optional<double> value = number_in<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string with_commas(std::int64_t number) {
  const std::string digits = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  std::string text;
  for (std::size_t at = 0; at < digits.size(); ++at) {
    if (at > sign && (digits.size() - at) % 3 == 0) {
      text += ',';
    }
    text += digits[at];
  }
  return text;
}

std::string_view without_blanks(std::string_view text) {
  while (const std::size_t length = blank_at(text, false)) {
    text.remove_prefix(length);
  }
  while (const std::size_t length = blank_at(text, true)) {
    text.remove_suffix(length);
  }
  return text;
}

std::optional<double> written_number(std::string_view written) {
  std::string text(without_blanks(written));
  if (std::count(text.begin(), text.end(), ',') == 1 && text.find('.') == std::string::npos) {
    text[text.find(',')] = '.';
  }
  return number_of(text);
}

}  // namespace bp::trainer

#include "trainer/data/label_form.h"

#include <algorithm>
#include <cmath>

#include "trainer/data/numbers.h"

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

std::string_view trimmed_label(std::string_view label) {
  while (const std::size_t length = blank_at(label, false)) {
    label.remove_prefix(length);
  }
  while (const std::size_t length = blank_at(label, true)) {
    label.remove_suffix(length);
  }
  return label;
}

std::optional<double> label_number(std::string_view label) {
  std::string text(trimmed_label(label));
  if (std::count(text.begin(), text.end(), ',') == 1 && text.find('.') == std::string::npos) {
    text[text.find(',')] = '.';
  }
  return number_of(text);
}

std::optional<std::string> formed_label(std::string_view label, const LabelForm& form) {
  if (form.trim || form.round) {
    label = trimmed_label(label);
  }
  if (!form.round || label.empty()) {
    return std::string(label);
  }
  const auto number = label_number(label);
  constexpr double kLargest = 9e15;  // whole numbers below this are exact
  if (!number || std::abs(*number) > kLargest) {
    return std::nullopt;
  }
  return std::to_string(std::llround(*number));
}

}  // namespace bp::trainer

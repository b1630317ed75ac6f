#include "trainer/tasks/classify/label_form.h"

#include <cmath>

#include "trainer/data/numbers.h"

namespace bp::trainer {
std::optional<std::string> formed_label(std::string_view label, const LabelForm& form) {
  if (form.trim || form.round) {
    label = without_blanks(label);
  }
  if (!form.round || label.empty()) {
    return std::string(label);
  }
  const auto number = written_number(label);
  constexpr double kLargest = 9e15;  // whole numbers below this are exact
  if (!number || std::abs(*number) > kLargest) {
    return std::nullopt;
  }
  return std::to_string(std::llround(*number));
}

}  // namespace bp::trainer

// Normalizes labels before they are compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bp::trainer {

struct LabelForm {
  bool trim = false;   // removes blanks around the label
  bool round = false;  // rounds a number to the nearest whole one, halves away from 0
  bool operator==(const LabelForm&) const = default;
};

// Returns the label in the requested form; nothing if it must be rounded and is not a number. An
// empty label stays empty.
[[nodiscard]] std::optional<std::string> formed_label(std::string_view label,
                                                      const LabelForm& form);

}  // namespace bp::trainer

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

// Returns the label without blanks around it: those of ASCII, and the no-break space that office
// programs write.
[[nodiscard]] std::string_view trimmed_label(std::string_view label);

// Returns the label as a finite number; nothing if it is not one. Blanks around it and a decimal
// comma are allowed.
[[nodiscard]] std::optional<double> label_number(std::string_view label);

// Returns the label in the requested form; nothing if it must be rounded and is not a number. An
// empty label stays empty.
[[nodiscard]] std::optional<std::string> formed_label(std::string_view label,
                                                      const LabelForm& form);

}  // namespace bp::trainer

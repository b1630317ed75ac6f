// What becomes of a label before it is compared with others.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace bp::trainer {

struct LabelForm {
  bool trim = false;   // blanks around it go
  bool round = false;  // a number becomes the nearest whole one, a half the one further from 0
  bool operator==(const LabelForm&) const = default;
};

// The label without blanks around it: ASCII's, and the no-break space that office programs write.
[[nodiscard]] std::string_view trimmed_label(std::string_view label);

// The finite number that a label is, blanks around it and a comma for the decimal point allowed.
[[nodiscard]] std::optional<double> label_number(std::string_view label);

// The label in the form that is asked for; none when it is to be rounded and is no number. An empty
// label stays empty.
[[nodiscard]] std::optional<std::string> formed_label(std::string_view label,
                                                      const LabelForm& form);

}  // namespace bp::trainer

// Parses and prints numbers as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace bp::trainer {

// Returns the finite number that all of `text` represents ("3", "-0.5", "1e3"), or nothing.
[[nodiscard]] std::optional<double> number_of(std::string_view text);

// Returns the text without blanks around it: those of ASCII, and the no-break space that office
// programs write.
[[nodiscard]] std::string_view without_blanks(std::string_view text);

// Returns the finite number that a person wrote: with blanks around it, perhaps, and a decimal
// comma or point; nothing if it is none.
[[nodiscard]] std::optional<double> written_number(std::string_view written);

[[nodiscard]] std::string with_commas(std::int64_t number);  // "67,349"

}  // namespace bp::trainer

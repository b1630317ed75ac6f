// The value of an option as text: numbers within bounds, lists with commas, and words for true and
// false.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// An upper bound of at least this much means that there is no upper bound.
inline constexpr double kUnbounded = 1e18;

// A number as the user typed it, and what an error message adds to it.
struct NumberText {
  std::string option;  // "--batch"
  std::string text;
  std::string hint;
};

// Number is int, std::int64_t, std::uint64_t or double. Throws InputError (2) unless all of the
// text is one number from `least` to `most`.
template <class Number>
[[nodiscard]] Number parse_number(const NumberText& from, double least, double most);

// Writes a number as a person would: 0.1, not 0.10000000000000001; a small one as 1e-08.
template <class Number>
[[nodiscard]] std::string number_text(Number value);

// Returns what is between the commas, without blanks around it.
[[nodiscard]] std::vector<std::string> parts_of(std::string_view text);

// The same for names. Throws InputError (2) for an empty name and for one that occurs twice.
[[nodiscard]] std::vector<std::string> parse_list(const std::string& option, std::string_view text);

// Whether a flag in a file may have this value.
[[nodiscard]] bool means_true_or_false(std::string_view value);

}  // namespace bp::trainer

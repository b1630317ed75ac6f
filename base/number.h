// Reads a text that is one number, and nothing else.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace bp {

// Returns whether all of the text is a number that fits; only then changes `number`.
template <class Number>
[[nodiscard]] bool read_number(std::string_view text, Number& number) {
  Number value{};
  const char* const all = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), all, value);
  if (error != std::errc() || end != all) return false;
  number = value;
  return true;
}

// Returns the number that all of the text is; nothing for another text, or one that does not fit.
template <class Number>
[[nodiscard]] std::optional<Number> number_in(std::string_view text) {
  Number value{};
  return read_number(text, value) ? std::optional(value) : std::nullopt;
}

}  // namespace bp

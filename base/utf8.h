// Validates UTF-8, and reads and writes it code point by code point.
#pragma once

#include <string>
#include <string_view>

namespace bp {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Returns whether a byte of valid UTF-8 is of a character that began before it.
[[nodiscard]] constexpr bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

// Returns the length in bytes of the character at the start of `text`, or 0 if it is not valid
// (Unicode, table 3-7).
[[nodiscard]] std::size_t character_length(std::string_view text);

// Returns whether `text` begins with a character that controls a terminal: U+0000 to U+001F, U+007F
// to U+009F.
[[nodiscard]] bool is_control(std::string_view text);

// Returns the offset of the first byte that is not part of valid UTF-8 (overlong forms, surrogates
// and values past U+10FFFF are invalid), or npos.
[[nodiscard]] std::size_t find_invalid_utf8(std::string_view text);

// Returns the code point at offset `at` of valid UTF-8, and moves `at` past it.
[[nodiscard]] inline char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    at += 1;
    return first;
  }
  if (first < 0xE0) {
    const char32_t c = (first & 0x1FU) << 6 | (byte(1) & 0x3FU);
    at += 2;
    return c;
  }
  if (first < 0xF0) {
    const char32_t c = (first & 0x0FU) << 12 | (byte(1) & 0x3FU) << 6 | (byte(2) & 0x3FU);
    at += 3;
    return c;
  }
  const char32_t c =
      (first & 0x07U) << 18 | (byte(1) & 0x3FU) << 12 | (byte(2) & 0x3FU) << 6 | (byte(3) & 0x3FU);
  at += 4;
  return c;
}

// Returns `text` without the bytes that are not valid UTF-8.
[[nodiscard]] std::string valid_utf8(std::string_view text);

void append_utf8(char32_t code_point, std::string& text);

}  // namespace bp

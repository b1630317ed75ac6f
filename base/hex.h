// Bytes as hexadecimal digits: "2f3a", two a byte, in lower case.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bp {

[[nodiscard]] std::string to_hex(std::span<const unsigned char> bytes);

// False unless `text` is what to_hex() makes of so many bytes.
[[nodiscard]] bool parse_hex(std::string_view text, std::span<unsigned char> bytes);

}  // namespace bp

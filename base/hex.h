// Bytes as hexadecimal digits in lower case, two for each byte: "2f3a".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace bp {

[[nodiscard]] std::string to_hex(std::span<const unsigned char> bytes);

// Returns false unless `text` is what to_hex() makes of bytes.size() bytes.
[[nodiscard]] bool parse_hex(std::string_view text, std::span<unsigned char> bytes);

}  // namespace bp

// The encoding of a text file.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// Means: UTF-8, or UTF-16 if the file begins with its byte order mark.
inline constexpr std::string_view kFindEncoding;

// Parses "auto", or a name that iconv(3) knows, in any case; also "latin-1" and Python's names with
// "_". Returns the name for EncodedInput, "utf-8", or kFindEncoding. Throws InputError (2) for
// anything else.
[[nodiscard]] std::string parse_encoding(const std::string& word);

}  // namespace bp::trainer

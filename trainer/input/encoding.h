// The encoding of a text file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trainer/input/byte_input.h"

namespace bp::trainer {

// Means: UTF-8, or UTF-16 if the file begins with its byte order mark.
inline constexpr std::string_view kFindEncoding;

// Parses "auto", or a name that iconv(3) knows, in any case; also "latin-1" and Python's names with
// "_". Returns the name for in_utf8(), "utf-8", or kFindEncoding. Throws InputError (2) for
// anything else.
[[nodiscard]] std::string parse_encoding(const std::string& word);

// Converts the content of a file to UTF-8. `encoding` is a name that iconv knows. A byte that is
// not valid in it is an error.
[[nodiscard]] std::unique_ptr<ByteInput> in_utf8(std::unique_ptr<ByteInput> source,
                                                 const std::string& encoding);

}  // namespace bp::trainer

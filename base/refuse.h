// For input that cannot be used: the caller's error, in one line.
#pragma once

#include <string>

namespace bp {

// Throws an invalid_argument Error with the text, or with "where: why".
[[noreturn]] void refuse(const std::string& text);
[[noreturn]] void refuse(const std::string& where, const std::string& why);

}  // namespace bp

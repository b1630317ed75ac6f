// Refuses input that cannot be used.
#pragma once

#include <string>

namespace bp {

// Throws an invalid_argument Error whose text is `text` or "where: why".
[[noreturn]] void refuse(const std::string& text);
[[noreturn]] void refuse(const std::string& where, const std::string& why);

}  // namespace bp

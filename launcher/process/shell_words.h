// Splits text into words as a POSIX shell does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/shell_word.h"

namespace bp::launcher {

// Splits `text` at blanks. Understands '...', "..." and backslash, and expands nothing. Throws
// invalid_argument for a quote that is not closed.
[[nodiscard]] std::vector<std::string> split_shell_words(std::string_view text);

using bp::quote_shell_word;
using bp::quote_shell_words;

}  // namespace bp::launcher

// Words as a POSIX shell sees them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::launcher {

// Splits at blanks; understands '...', "..." and backslash. Nothing is expanded. Throws
// invalid_argument for a quote that is not closed.
[[nodiscard]] std::vector<std::string> split_shell_words(std::string_view text);

// One word that any shell reads back as `text`; unchanged where that needs no quotes.
[[nodiscard]] std::string quote_shell_word(std::string_view text);

// Several, with blanks between them.
[[nodiscard]] std::string quote_shell_words(const std::vector<std::string>& words);

}  // namespace bp::launcher

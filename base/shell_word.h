// Words for a POSIX shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp {

// Returns one word that any POSIX shell reads as `text`. Text that needs no quotes gets none.
[[nodiscard]] std::string quote_shell_word(std::string_view text);

// Quotes each word and puts blanks between them.
[[nodiscard]] std::string quote_shell_words(const std::vector<std::string>& words);

}  // namespace bp

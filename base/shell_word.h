// Words for a POSIX shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp {

// One word that any shell reads back as `text`; unchanged where that needs no quotes.
[[nodiscard]] std::string quote_shell_word(std::string_view text);

// Several, with blanks between them.
[[nodiscard]] std::string quote_shell_words(const std::vector<std::string>& words);

}  // namespace bp

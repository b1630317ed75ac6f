// A sentence's words, or their tags, as one text with blanks between them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// A blank inside of a word becomes a no-break space, which the tokenizer treats as a blank.
[[nodiscard]] std::string join_words(const std::vector<std::string>& words);

// Cuts at spaces, tabs and line ends; none of the words is empty.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text);

}  // namespace bp::trainer

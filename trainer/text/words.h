// Cuts a text into the words that WordPiece looks up: cleaned, split at white space, punctuation
// and ideographs, and, as asked, decomposed and without accents, and in lower case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

struct WordForm {
  bool lower_case = true;
  bool strip_accents = true;
};

// Returns the words of `text`, which must be valid UTF-8. They are valid UTF-8 and not empty.
[[nodiscard]] std::vector<std::string> split_words(std::string_view text, const WordForm& form);

}  // namespace bp::trainer

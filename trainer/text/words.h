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

class WordSplitter {
 public:
  explicit WordSplitter(const WordForm& form) : form_(form) {}

  // Returns the words of `text`, which must be valid UTF-8. They are valid UTF-8 and not empty, and
  // valid until the next call.
  [[nodiscard]] const std::vector<std::string>& split(std::string_view text);

 private:
  void clean(std::string_view text);
  void append_words();

  WordForm form_;
  std::vector<char32_t> characters_;
  std::vector<std::string> words_;
};

}  // namespace bp::trainer

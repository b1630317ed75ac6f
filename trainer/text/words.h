// Cuts a text into the words that WordPiece looks up: cleaned, split at white space, punctuation
// and ideographs, and, with lower_case, decomposed, without accents and in lower case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

class WordSplitter {
 public:
  explicit WordSplitter(bool lower_case) : lower_case_(lower_case) {}

  // Returns the words of `text`, which must be valid UTF-8. They are valid UTF-8 and not empty, and
  // valid until the next call.
  [[nodiscard]] const std::vector<std::string>& split(std::string_view text);

 private:
  void clean(std::string_view text);
  void strip_accents_and_lower();
  void append_words();

  bool lower_case_;
  std::vector<char32_t> characters_;
  std::vector<std::string> words_;
};

}  // namespace bp::trainer

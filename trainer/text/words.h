// Cuts a text into the words that WordPiece looks up: cleaned, split at white space, punctuation
// and ideographs, and (where lower_case is asked for) decomposed, without accents, in lower case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

class WordSplitter {
 public:
  explicit WordSplitter(bool lower_case) : lower_case_(lower_case) {}

  // The words of valid UTF-8, themselves valid UTF-8 and not empty. Valid until the next call.
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

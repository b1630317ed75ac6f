#include "trainer/text/words.h"

#include <algorithm>

#include "base/utf8.h"
#include "trainer/text/unicode.h"

namespace bp::trainer {

const std::vector<std::string>& WordSplitter::split(std::string_view text) {
  clean(text);
  if (lower_case_) {
    strip_accents_and_lower();
  }
  append_words();
  return words_;
}

void WordSplitter::clean(std::string_view text) {
  characters_.clear();
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (is_ideograph(c)) {
      characters_.insert(characters_.end(), {U' ', c, U' '});
    } else if (is_space(c)) {
      characters_.push_back(U' ');
    } else if (!is_dropped(c)) {
      characters_.push_back(c);
    }
  }
}

void WordSplitter::strip_accents_and_lower() {
  decompose(characters_);
  characters_.erase(std::remove_if(characters_.begin(), characters_.end(), is_mark),
                    characters_.end());
  std::transform(characters_.begin(), characters_.end(), characters_.begin(), lower_case);
}

void WordSplitter::append_words() {
  words_.clear();
  bool inside = false;
  for (const char32_t c : characters_) {
    if (is_space(c)) {
      inside = false;
      continue;
    }
    const bool alone = is_punctuation(c);
    if (alone || !inside) {
      words_.emplace_back();
    }
    append_utf8(c, words_.back());
    inside = !alone;
  }
}

}  // namespace bp::trainer

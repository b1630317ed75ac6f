#include "trainer/text/words.h"

#include "base/utf8.h"
#include "trainer/text/unicode.h"

namespace bp::trainer {

const std::vector<std::string>& WordSplitter::split(std::string_view text) {
  clean(text);
  if (form_.strip_accents) {
    decompose(characters_);
    std::erase_if(characters_, is_mark);
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
    if (form_.lower_case) {
      append_lower_case(c, words_.back());
    } else {
      append_utf8(c, words_.back());
    }
    inside = !alone;
  }
}

}  // namespace bp::trainer

#include "trainer/text/words.h"

#include "base/utf8.h"
#include "trainer/text/unicode.h"

namespace bp::trainer {
namespace {

std::vector<char32_t> cleaned(std::string_view text) {
  std::vector<char32_t> characters;
  characters.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (is_ideograph(c)) {
      characters.insert(characters.end(), {U' ', c, U' '});
    } else if (is_space(c)) {
      characters.push_back(U' ');
    } else if (!is_dropped(c)) {
      characters.push_back(c);
    }
  }
  return characters;
}

}  // namespace

std::vector<std::string> split_words(std::string_view text, const WordForm& form) {
  std::vector<char32_t> characters = cleaned(text);
  if (form.strip_accents) {
    decompose(characters);
    std::erase_if(characters, is_mark);
  }
  std::vector<std::string> words;
  bool inside = false;
  for (const char32_t c : characters) {
    if (is_space(c)) {
      inside = false;
      continue;
    }
    const bool alone = is_punctuation(c);
    if (alone || !inside) words.emplace_back();
    if (form.lower_case) {
      append_lower_case(c, words.back());
    } else {
      append_utf8(c, words.back());
    }
    inside = !alone;
  }
  return words;
}

}  // namespace bp::trainer

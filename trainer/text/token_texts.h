// The texts that the tokens of a vocabulary stand for.
#pragma once

#include <string>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace bp::trainer {

struct TokenText {
  std::string text;         // without "##" and the mark of a blank; perhaps part of a character
  bool begins_word = true;  // else it continues the word of the token before it
};

// Returns the texts of all tokens by their ids. In byte-level BPE and Unigram only white space ends
// a word: punctuation continues the word before it.
[[nodiscard]] std::vector<TokenText> token_texts(const Vocabulary& vocabulary);

}  // namespace bp::trainer

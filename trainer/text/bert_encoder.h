// BERT's steps, faster than one by one: text in a normal form, words, and WordPiece.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/text/added_tokens.h"
#include "trainer/text/text_encoder.h"
#include "trainer/text/words.h"

namespace bp::trainer {

// `special`: tokens where a text contains them exactly as written. Each begins with a punctuation
// character of ASCII.
[[nodiscard]] std::unique_ptr<const TextEncoder> make_bert_encoder(std::vector<std::string> tokens,
                                                                   AddedTokens special,
                                                                   const WordForm& form);

}  // namespace bp::trainer

// The tokenizers wheel's file, tokenizer.json, as far as it describes BERT's tokenizer.
#pragma once

#include <string>

#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// Returns the tokens of a WordPiece model in the order of their ids, and whether texts become lower
// case. Refuses (invalid_argument, naming `path` and the key) every step and setting with which a
// text would get other ids than by Tokenizer, and whatever it does not know. Ignores `truncation`,
// `padding` and `decoder`.
[[nodiscard]] Vocabulary parse_tokenizer_json(const std::string& text, const std::string& path);

}  // namespace bp::trainer

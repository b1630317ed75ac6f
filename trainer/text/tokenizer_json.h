// The tokenizers wheel's file, tokenizer.json.
#pragma once

#include <string>

#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// Returns the tokenizer of a file: WordPiece with BERT's steps, byte-level BPE, or Unigram. Refuses
// (invalid_argument, naming `path` and the key) every step and setting that bp does not have.
// Ignores `truncation` and `decoder`.
[[nodiscard]] Vocabulary parse_tokenizer_json(const std::string& text, const std::string& path);

}  // namespace bp::trainer

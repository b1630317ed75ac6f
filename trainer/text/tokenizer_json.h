// The tokenizers wheel's file, tokenizer.json, and the older files of byte-level BPE.
#pragma once

#include <string>

#include "trainer/text/tokenizer.h"

namespace bp::trainer {

// Returns the tokenizer of a file: WordPiece with BERT's steps, byte-level BPE, or Unigram. Refuses
// (invalid_argument, naming `path` and the key) every step and setting that bp does not have.
// Ignores `truncation` and `decoder`.
[[nodiscard]] Vocabulary parse_tokenizer_json(const std::string& text, const std::string& path);

// Returns the tokenizer.json of RoBERTa's tokenizer with this vocab.json and merges.txt. Throws
// invalid_argument naming the file.
[[nodiscard]] std::string roberta_json(const std::string& vocabulary,
                                       const std::string& merges,
                                       const std::string& path);

}  // namespace bp::trainer

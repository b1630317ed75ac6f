// Trains a WordPiece vocabulary as the tokenizers wheel's trainer does: by byte-pair merges of
// characters, with "##" before a piece that continues a word. Unlike the wheel, it always returns
// the same vocabulary for the same texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trainer/text/tokenizer.h"
#include "trainer/text/words.h"

namespace bp::trainer {

class VocabularyTrainer {
 public:
  explicit VocabularyTrainer(bool lower_case) : splitter_({lower_case, lower_case}) {}

  void add(std::string_view text);

  // Returns at most `size` tokens, or more if the single characters (the 1000 most frequent) alone
  // need more. The order is: special tokens, characters, "##" characters, then merges of pairs that
  // occur at least twice, the most frequent first.
  [[nodiscard]] Vocabulary train(int size) const;

 private:
  WordSplitter splitter_;
  std::unordered_map<std::string, std::int64_t> words_;
};

}  // namespace bp::trainer

// Makes a WordPiece vocabulary out of texts, as the tokenizers wheel's trainer does: byte-pair
// merges of characters, written with "##" where a piece goes on with a word. Unlike the wheel's it
// gives the same vocabulary every time.
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
  explicit VocabularyTrainer(bool lower_case) : splitter_(lower_case) {}

  void add(std::string_view text);

  // At most `size` tokens, if the characters alone (the 1000 most frequent) don't need more:
  // special tokens, characters, "##" characters, then merges of pairs met twice or more, the most
  // frequent first.
  [[nodiscard]] Vocabulary train(int size) const;

 private:
  WordSplitter splitter_;
  std::unordered_map<std::string, std::int64_t> words_;
};

}  // namespace bp::trainer

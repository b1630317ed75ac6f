// Trains a vocabulary on texts as the tokenizers wheel's trainers do, by merges of pairs. Unlike
// the wheel, it always returns the same vocabulary for the same texts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trainer/text/tokenizer.h"
#include "trainer/text/words.h"

namespace bp::trainer {

// WordPiece: characters are merged, and "##" begins a piece that continues a word. Byte pairs:
// bytes are merged, as in RoBERTa's tokenizer.
enum class VocabularyKind { word_pieces, byte_pairs };

class VocabularyTrainer {
 public:
  // `lower_case`: of WordPiece; byte pairs keep the case.
  explicit VocabularyTrainer(bool lower_case, VocabularyKind kind = VocabularyKind::word_pieces)
      : kind_(kind), form_{lower_case, lower_case} {}

  void add(std::string_view text);

  // Returns at most `size` tokens, or more if the single characters (the 1000 most frequent) or the
  // 256 bytes alone need more. The order is: special tokens, characters, "##" characters, then
  // merges of pairs that occur at least twice, the most frequent first.
  [[nodiscard]] Vocabulary train(int size) const;

 private:
  using Counts = std::map<std::string_view, std::int64_t>;
  static Vocabulary word_pieces(const Counts& counts, std::size_t size);
  static Vocabulary byte_pairs(const Counts& counts, std::size_t size);

  VocabularyKind kind_;
  WordForm form_;
  std::unordered_map<std::string, std::int64_t> words_;
};

}  // namespace bp::trainer

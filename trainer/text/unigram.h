// SentencePiece's Unigram model: of all ways to cut a word into pieces, the most likely one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/piece_trie.h"

namespace bp::trainer {

class Unigram {
 public:
  // `scores`: the logarithm of each piece's probability; a piece's id is its index. `unknown`: the
  // id of characters that are no piece.
  Unigram(const std::vector<std::string>& pieces, std::vector<double> scores, std::int32_t unknown);

  // Appends the ids of one word, as a PieceModel does.
  void operator()(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  // The best way to the end of a piece.
  struct Step {
    double score = 0;
    std::int32_t id = -1;  // of the piece; -1: no way leads here
    std::uint32_t length = 0;
  };

  [[nodiscard]] std::vector<Step> best_steps(std::string_view word) const;

  PieceTrie trie_;
  std::vector<double> scores_;
  std::int32_t unknown_;
  double unknown_score_;
};

}  // namespace bp::trainer

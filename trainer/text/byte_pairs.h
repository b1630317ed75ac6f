// Byte-level byte-pair encoding, as GPT-2 and RoBERTa have it: a word begins as its bytes, and the
// pair of neighbours that training merged first is merged first, the leftmost of equals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace bp::trainer {

// The character, in UTF-8, that stands for a byte in the tokens of such a vocabulary: itself if it
// is printable, else one from U+0100 on.
[[nodiscard]] const std::string& character_of_byte(char byte);

class BytePairs {
 public:
  using Ids = std::unordered_map<std::string, std::int32_t>;
  struct Options {
    std::int32_t unknown = -1;   // stands for a byte without a token; -1: it vanishes
    bool fuse_unknown = false;   // several of them in a row are one
    bool ignore_merges = false;  // a word that is a token is that token
  };

  // Merges in the order of training. Throws invalid_argument if one is of or makes a token that
  // `ids` lacks.
  BytePairs(Ids ids,
            const std::vector<std::pair<std::string, std::string>>& merges,
            const Options& options);

  // Appends the ids of one word, as a PieceModel does.
  void operator()(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  struct Merge {
    std::uint64_t pair = 0;  // the ids of both
    std::int32_t rank = -1;  // -1: the place is free
    std::int32_t id = -1;    // of the result
  };
  // A piece of the word, in a list of neighbours.
  struct Piece {
    std::int32_t id = 0;  // -1: merged into the one before
    std::int32_t before = -1;
    std::int32_t after = -1;
    const Merge* merge = nullptr;  // of it and the one after it
  };
  class Merging;

  [[nodiscard]] std::int32_t id_of(const std::string& token) const;  // -1: there is none
  // Returns the index of the merge of a pair in merges_, or of a free place for it.
  [[nodiscard]] std::size_t place_of(std::uint64_t pair) const;
  [[nodiscard]] std::vector<Piece> pieces_of(std::string_view word) const;

  Ids ids_;
  Options options_;
  std::array<std::int32_t, 256> byte_ids_{};  // -1: it has no token
  std::vector<Merge> merges_;                 // a hash table, at most half full
};

}  // namespace bp::trainer

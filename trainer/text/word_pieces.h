// The greedy longest-match-first cut of one word into pieces of the vocabulary.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace bp::trainer {

class WordPieces {
 public:
  // Keeps views into the vocabulary's tokens: it must live as long and not change.
  explicit WordPieces(const Vocabulary& vocabulary);

  // Appends the ids of one word; the unknown id alone when any part of it is unknown or it has
  // more than 100 characters.
  void append(std::string_view word, std::vector<std::int32_t>& ids) const;

  // The id of a whole token, or -1.
  [[nodiscard]] std::int32_t find(std::string_view token) const;

 private:
  using Ids = std::unordered_map<std::string_view, std::int32_t>;

  // The longest piece at the start of `rest`; its length, or 0.
  static std::size_t longest(const Ids& ids,
                             std::size_t longest_token,
                             std::string_view rest,
                             std::int32_t& id);

  Ids whole_;                      // as they stand in the vocabulary
  Ids continuing_;                 // "##" taken off
  std::size_t longest_token_ = 0;  // in bytes
  std::int32_t unknown_ = 0;
};

}  // namespace bp::trainer

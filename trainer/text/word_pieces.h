// Cuts one word into pieces of the vocabulary, greedily by the longest match.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bp::trainer {

class WordPieces {
 public:
  // Keeps views into the tokens: the caller must keep them alive and unchanged.
  explicit WordPieces(const std::vector<std::string>& tokens);

  // Appends the ids of one word, or only the unknown id if any part of it is unknown or it has more
  // than 100 characters.
  void append(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  using Ids = std::unordered_map<std::string_view, std::int32_t>;

  // Appends the longest of `pieces` with which `rest` begins. Returns its length, or 0 for none.
  std::size_t append_longest(const Ids& pieces,
                             std::string_view rest,
                             std::vector<std::int32_t>& ids) const;

  Ids whole_;                      // tokens as in the vocabulary
  Ids continuing_;                 // tokens without their "##"
  std::size_t longest_token_ = 0;  // in bytes
  std::int32_t unknown_ = -1;
};

}  // namespace bp::trainer

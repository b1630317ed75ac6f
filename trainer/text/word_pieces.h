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

  // Returns the id of a whole token, or -1.
  [[nodiscard]] std::int32_t find(std::string_view token) const;

 private:
  using Ids = std::unordered_map<std::string_view, std::int32_t>;

  // Finds the longest piece at the start of `rest` and sets `id`. Returns the piece's length, or 0.
  static std::size_t longest(const Ids& ids,
                             std::size_t longest_token,
                             std::string_view rest,
                             std::int32_t& id);

  Ids whole_;                      // tokens as in the vocabulary
  Ids continuing_;                 // tokens without their "##"
  std::size_t longest_token_ = 0;  // in bytes
  std::int32_t unknown_ = 0;
};

}  // namespace bp::trainer

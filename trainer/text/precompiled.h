// SentencePiece's table of replacements, which a tokenizer.json holds as "precompiled_charsmap".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// Threads: any number of threads may use it at once.
class Precompiled {
 public:
  // `table`: the size of a trie, the trie, and the replacements. Throws invalid_argument if it is
  // cut off or not UTF-8.
  explicit Precompiled(const std::string& table);

  // Replaces each grapheme cluster of less than six bytes that the table has, and the characters of
  // all others one by one, as the tokenizers wheel does it.
  void normalize(std::string& text) const;

 private:
  // The replacement of the shortest entry with which `text` begins.
  [[nodiscard]] std::optional<std::string_view> replacement(std::string_view text) const;
  [[nodiscard]] std::optional<std::string_view> replacement_at(std::uint32_t offset) const;
  void append(std::string_view cluster, std::string& to) const;

  std::vector<std::uint32_t> trie_;  // a double array, as Darts has it
  std::string replacements_;         // each ends with a NUL
  std::array<bool, 128> is_kept_{};  // characters that the table leaves as they are
};

}  // namespace bp::trainer

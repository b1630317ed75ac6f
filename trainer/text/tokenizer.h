// WordPiece as BERT uses it: text in, ids out. Equal to the `tokenizers` wheel's
// BertWordPieceTokenizer on every input.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// The lines of a vocab.txt; a token's id is its place.
struct Vocabulary {
  std::vector<std::string> tokens;
  // Throws invalid_argument naming the file and the line: not UTF-8, doubled, or one of [PAD] [UNK]
  // [CLS] [SEP] missing.
  static Vocabulary read(const std::string& path);
  // The same from the file's text.
  static Vocabulary parse(const std::string& text, const std::string& path);
};

// Thread-safe for const calls only when each thread has its own Tokenizer: encoding keeps a cache
// of words.
class Tokenizer {
 public:
  explicit Tokenizer(const Vocabulary& vocabulary, bool lower_case = true);
  Tokenizer(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Appends the ids of `text`, without [CLS] and [SEP]. Bytes that are not UTF-8 are passed over,
  // as BERT passes over U+FFFD.
  void encode(std::string_view text, std::vector<std::int32_t>& ids);

  [[nodiscard]] std::int32_t pad_id() const;
  [[nodiscard]] std::int32_t unknown_id() const;
  [[nodiscard]] std::int32_t cls_id() const;
  [[nodiscard]] std::int32_t sep_id() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp::trainer

// BERT's WordPiece tokenizer, which converts text to token ids. It returns the same ids as the
// `tokenizers` wheel's BertWordPieceTokenizer for every input.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

// The lines of a vocab.txt, or the tokens of a tokenizer.json; a token's id is its index.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::optional<bool> lower_case = {};  // only a tokenizer.json says it
  // Reads a file of either kind. Throws invalid_argument naming the file and the place if it cannot
  // be read, is not UTF-8, has a token twice, lacks one of [PAD] [UNK] [CLS] [SEP], or describes
  // another tokenizer (see parse_tokenizer_json()).
  static Vocabulary read(const std::string& path);
  // Parses a file's text. `path` is for messages; the errors are those of read().
  static Vocabulary parse(const std::string& text, const std::string& path);
};

// Returns the path of the vocab.txt in a folder, else of its tokenizer.json, or "".
[[nodiscard]] std::string find_vocabulary(const std::string& folder);

// Encoding fills a cache of words, so each thread needs its own Tokenizer.
class Tokenizer {
 public:
  explicit Tokenizer(const Vocabulary& vocabulary, bool lower_case = true);
  Tokenizer(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Returns another one of the same vocabulary, for another thread. The two share all but the
  // cache.
  [[nodiscard]] Tokenizer another() const;

  // Appends the ids of `text`, without [CLS] and [SEP]. Skips bytes that are not UTF-8, as BERT
  // skips U+FFFD.
  void encode(std::string_view text, std::vector<std::int32_t>& ids);

  [[nodiscard]] std::int32_t pad_id() const;
  [[nodiscard]] std::int32_t unknown_id() const;
  [[nodiscard]] std::int32_t cls_id() const;
  [[nodiscard]] std::int32_t sep_id() const;

 private:
  class Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp::trainer

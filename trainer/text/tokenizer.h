// Tokenizers, which convert text to token ids: BERT's WordPiece, and the byte-level BPE and Unigram
// ones of a tokenizer.json. They return the same ids as the `tokenizers` wheel for every input.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/word_cache.h"

namespace bp::trainer {

class TextEncoder;
struct Pipeline;

// How a tokenizer writes samples: `cls A sep`, or of a pair `cls A sep B sep`. An id is -1 if the
// vocabulary has no such token.
struct SampleForm {
  std::int32_t pad = -1;
  std::int32_t unknown = -1;
  std::int32_t cls = -1;
  std::int32_t sep = -1;
  std::int32_t mask = -1;
  int separators = 1;            // between the texts of a pair; RoBERTa has two
  std::int32_t second_type = 1;  // the token type of the second text and what is behind it
  bool operator==(const SampleForm&) const = default;
};

// BERT's special tokens, in the order of the ids in SampleForm.
inline constexpr std::array<std::string_view, 5> kBertTokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                                "[MASK]"};

// The lines of a vocab.txt, or the tokens of another tokenizer; a token's id is its index.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::optional<bool> lower_case = {};  // only a tokenizer.json says it
  // The tokenizer, if it is another than BERT's of these tokens.
  std::shared_ptr<const Pipeline> pipeline = {};

  // Reads a vocab.txt, a tokenizer.json, or a vocab.json beside its merges.txt. Throws
  // invalid_argument naming the file and the place if it cannot be read, is not UTF-8, has a token
  // twice, lacks a special token, or describes a tokenizer that bp does not have (see
  // parse_tokenizer_json()).
  static Vocabulary read(const std::string& path);
  // Parses the text of a vocab.txt or, if the path says so, of a tokenizer.json. `path` is for
  // messages; the errors are those of read().
  static Vocabulary parse(const std::string& text, const std::string& path);

  // Returns the tokenizer.json of `pipeline`, or "".
  [[nodiscard]] const std::string& json() const;
};

// Returns the path of the vocab.txt in a folder, else of its tokenizer.json, else of its
// vocab.json, or "".
[[nodiscard]] std::string find_vocabulary(const std::string& folder);

// Returns the path of the merges.txt that belongs to a vocab.json; "" for another vocabulary.
[[nodiscard]] std::string merges_beside(const std::string& vocabulary);

// Returns the form of the samples of its tokenizer.
[[nodiscard]] SampleForm form_of(const Vocabulary& vocabulary);

// Encoding fills a cache of words, so each thread needs its own Tokenizer. Copies share the rest.
class Tokenizer {
 public:
  // `lower_case`: of BERT's tokenizer; another one knows it by itself.
  explicit Tokenizer(const Vocabulary& vocabulary, bool lower_case = true);

  // Appends the ids of `text`, without cls and sep. Skips bytes that are not UTF-8, as BERT skips
  // U+FFFD.
  void encode(std::string_view text, std::vector<std::int32_t>& ids);

  [[nodiscard]] const SampleForm& form() const { return form_; }

 private:
  std::shared_ptr<const TextEncoder> encoder_;
  WordCache cache_;
  SampleForm form_;
};

}  // namespace bp::trainer

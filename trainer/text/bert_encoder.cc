#include "trainer/text/bert_encoder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "trainer/text/word_cache.h"
#include "trainer/text/word_pieces.h"
#include "trainer/text/words.h"

namespace bp::trainer {
namespace {

// The role of a byte in cutting text into stretches that can be tokenized independently. ASCII
// white space and punctuation are starters in the sense of Unicode, so the text on one side of them
// never changes the tokens of the other side.
enum class ByteKind : std::uint8_t { word, space, punctuation };

constexpr std::array<ByteKind, 256> make_byte_kinds() {
  std::array<ByteKind, 256> kinds{};
  for (const unsigned char c : {' ', '\t', '\n', '\r'}) {
    kinds[c] = ByteKind::space;
  }
  for (unsigned c = 33; c < 127; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    kinds[c] = letter ? ByteKind::word : ByteKind::punctuation;
  }
  return kinds;
}

constexpr std::array<ByteKind, 256> kByteKinds = make_byte_kinds();

ByteKind kind_of(char c) { return kByteKinds[static_cast<unsigned char>(c)]; }

// Words of printable ASCII, the most frequent ones, need no Unicode tables.
bool is_plain(char c) { return c > ' ' && c < 0x7F; }
char lower_plain(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class BertEncoder : public TextEncoder {
 public:
  BertEncoder(std::vector<std::string> tokens, AddedTokens special, const WordForm& form)
      : tokens_(std::move(tokens)), special_(std::move(special)), form_(form) {
    for (int c = 0; c < 128; ++c) pieces_.append(std::string(1, static_cast<char>(c)), ascii_ids_);
  }
  BertEncoder(const BertEncoder&) = delete;  // pieces_ has views into tokens_
  BertEncoder& operator=(const BertEncoder&) = delete;

  void encode(std::string_view text,
              WordCache& cache,
              std::vector<std::int32_t>& ids) const override {
    std::size_t at = 0;
    while (at < text.size()) {
      switch (kind_of(text[at])) {
        case ByteKind::space:
          ++at;
          break;
        case ByteKind::punctuation:
          at += append_punctuation(text.substr(at), ids);
          break;
        case ByteKind::word: {
          const std::size_t begin = at;
          while (at < text.size() && kind_of(text[at]) == ByteKind::word) {
            ++at;
          }
          cache.append(text.substr(begin, at - begin), ids,
                       [&](std::string_view stretch, auto& to) { append_stretch(stretch, to); });
        }
      }
    }
  }

 private:
  // Appends the token at the start of `rest` and returns its length in bytes.
  std::size_t append_punctuation(std::string_view rest, std::vector<std::int32_t>& ids) const {
    if (const AddedToken* const token = special_.at_start(rest)) {
      ids.push_back(token->id);
      return token->content.size();
    }
    ids.push_back(ascii_ids_[static_cast<unsigned char>(rest[0])]);
    return 1;
  }

  void append_stretch(std::string_view stretch, std::vector<std::int32_t>& ids) const {
    if (std::ranges::all_of(stretch, is_plain)) {
      std::string word(stretch);
      if (form_.lower_case) std::ranges::transform(word, word.begin(), lower_plain);
      return pieces_.append(word, ids);
    }
    const bool valid = find_invalid_utf8(stretch) == std::string_view::npos;
    const std::string repaired = valid ? std::string() : valid_utf8(stretch);
    for (const std::string& word : split_words(valid ? stretch : repaired, form_)) {
      pieces_.append(word, ids);
    }
  }

  std::vector<std::string> tokens_;
  WordPieces pieces_{tokens_};
  AddedTokens special_;
  WordForm form_;
  std::vector<std::int32_t> ascii_ids_;  // of each character of ASCII as a word
};

}  // namespace

std::unique_ptr<const TextEncoder> make_bert_encoder(std::vector<std::string> tokens,
                                                     AddedTokens special,
                                                     const WordForm& form) {
  return std::make_unique<const BertEncoder>(std::move(tokens), std::move(special), form);
}

}  // namespace bp::trainer

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

// What the encoders of one vocabulary share.
struct Tokens {
  Tokens(std::vector<std::string> of, AddedTokens cut, const WordForm& word_form)
      : tokens(std::move(of)), special(std::move(cut)), form(word_form) {
    const std::int32_t unknown = pieces.find("[UNK]");
    for (std::size_t c = 0; c < punctuation_ids.size(); ++c) {
      const std::int32_t id = pieces.find(std::string(1, static_cast<char>(c)));
      punctuation_ids[c] = id < 0 ? unknown : id;
    }
  }
  Tokens(const Tokens&) = delete;  // pieces has views into tokens
  Tokens& operator=(const Tokens&) = delete;

  std::vector<std::string> tokens;
  WordPieces pieces{tokens};
  AddedTokens special;
  WordForm form;
  std::array<std::int32_t, 128> punctuation_ids{};
};

class BertEncoder : public TextEncoder {
 public:
  explicit BertEncoder(std::shared_ptr<const Tokens> tokens)
      : tokens_(std::move(tokens)), splitter_(tokens_->form) {}

  [[nodiscard]] std::unique_ptr<TextEncoder> another() const override {
    return std::make_unique<BertEncoder>(tokens_);
  }

  void encode(std::string_view text, std::vector<std::int32_t>& ids) override {
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
          cache_.append(text.substr(begin, at - begin), ids,
                        [&](std::string_view stretch, auto& to) { append_stretch(stretch, to); });
        }
      }
    }
  }

 private:
  // Appends the token at the start of `rest` and returns its length in bytes.
  std::size_t append_punctuation(std::string_view rest, std::vector<std::int32_t>& ids) const {
    if (const AddedToken* const token = tokens_->special.at_start(rest)) {
      ids.push_back(token->id);
      return token->content.size();
    }
    ids.push_back(tokens_->punctuation_ids[static_cast<unsigned char>(rest[0])]);
    return 1;
  }

  void append_stretch(std::string_view stretch, std::vector<std::int32_t>& ids) {
    if (std::all_of(stretch.begin(), stretch.end(), is_plain)) {
      word_.assign(stretch);
      if (tokens_->form.lower_case) {
        std::transform(word_.begin(), word_.end(), word_.begin(), lower_plain);
      }
      tokens_->pieces.append(word_, ids);
      return;
    }
    const bool valid = find_invalid_utf8(stretch) == std::string_view::npos;
    const std::string repaired = valid ? std::string() : valid_utf8(stretch);
    for (const std::string& word : splitter_.split(valid ? stretch : repaired)) {
      tokens_->pieces.append(word, ids);
    }
  }

  std::shared_ptr<const Tokens> tokens_;
  WordSplitter splitter_;
  WordCache cache_;
  std::string word_;
};

}  // namespace

SampleForm bert_form(const std::function<std::int32_t(const std::string& token)>& id_of) {
  std::array<std::int32_t, kBertTokens.size()> ids{};
  std::ranges::transform(kBertTokens, ids.begin(),
                         [&](std::string_view token) { return id_of(std::string(token)); });
  return {.pad = ids[0], .unknown = ids[1], .cls = ids[2], .sep = ids[3], .mask = ids[4]};
}

std::unique_ptr<TextEncoder> make_bert_encoder(std::vector<std::string> tokens,
                                               AddedTokens special,
                                               const WordForm& form) {
  return std::make_unique<BertEncoder>(
      std::make_shared<const Tokens>(std::move(tokens), std::move(special), form));
}

}  // namespace bp::trainer

#include "trainer/text/tokenizer.h"

#include <algorithm>
#include <array>
#include <memory>
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

// These are tokens where a text contains them exactly as written.
constexpr std::array<std::string_view, 5> kSpecialTokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                            "[MASK]"};

// Longer stretches (Chinese, links) rarely occur twice.
constexpr std::size_t kLongestCached = 48;

// What the tokenizers of one vocabulary share.
struct Tokens {
  Tokens(const Vocabulary& of, bool lower) : vocabulary(of), lower_case(lower) {
    for (std::size_t i = 0; i < kSpecialTokens.size(); ++i) {
      special_ids[i] = pieces.find(kSpecialTokens[i]);
    }
    for (std::size_t c = 0; c < punctuation_ids.size(); ++c) {
      const std::int32_t id = pieces.find(std::string(1, static_cast<char>(c)));
      punctuation_ids[c] = id < 0 ? special_ids[1] : id;
    }
  }
  Tokens(const Tokens&) = delete;  // pieces has views into vocabulary
  Tokens& operator=(const Tokens&) = delete;

  Vocabulary vocabulary;
  WordPieces pieces{vocabulary};
  bool lower_case;
  std::array<std::int32_t, kSpecialTokens.size()> special_ids{};
  std::array<std::int32_t, 128> punctuation_ids{};
};

}  // namespace

class Tokenizer::Impl {
 public:
  explicit Impl(std::shared_ptr<const Tokens> tokens)
      : tokens_(std::move(tokens)), splitter_(tokens_->lower_case) {}

  void encode(std::string_view text, std::vector<std::int32_t>& ids) {
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
          append_stretch(text.substr(begin, at - begin), ids);
        }
      }
    }
  }

  [[nodiscard]] std::int32_t special_id(std::size_t which) const {
    return tokens_->special_ids[which];
  }
  [[nodiscard]] const std::shared_ptr<const Tokens>& tokens() const { return tokens_; }

 private:
  // Appends the token at the start of `rest` and returns its length in bytes.
  std::size_t append_punctuation(std::string_view rest, std::vector<std::int32_t>& ids) const {
    for (std::size_t i = 0; rest[0] == '[' && i < kSpecialTokens.size(); ++i) {
      if (tokens_->special_ids[i] >= 0 && rest.starts_with(kSpecialTokens[i])) {
        ids.push_back(tokens_->special_ids[i]);
        return kSpecialTokens[i].size();
      }
    }
    ids.push_back(tokens_->punctuation_ids[static_cast<unsigned char>(rest[0])]);
    return 1;
  }

  void append_stretch(std::string_view stretch, std::vector<std::int32_t>& ids) {
    if (stretch.size() > kLongestCached) {
      append_uncached(stretch, ids);
      return;
    }
    const std::uint64_t hash = WordCache::hash_of(stretch);
    const WordCache::Lookup lookup = cache_.find(stretch, hash);
    if (lookup.found) {
      ids.insert(ids.end(), lookup.ids.begin(), lookup.ids.end());
      return;
    }
    const std::size_t before = ids.size();
    append_uncached(stretch, ids);
    cache_.store(stretch, hash, std::span(ids).subspan(before));
  }

  void append_uncached(std::string_view stretch, std::vector<std::int32_t>& ids) {
    if (std::all_of(stretch.begin(), stretch.end(), is_plain)) {
      word_.assign(stretch);
      if (tokens_->lower_case) {
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

Tokenizer::Tokenizer(const Vocabulary& vocabulary, bool lower_case)
    : impl_(std::make_unique<Impl>(std::make_shared<const Tokens>(vocabulary, lower_case))) {}
Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::another() const { return Tokenizer(std::make_unique<Impl>(impl_->tokens())); }

void Tokenizer::encode(std::string_view text, std::vector<std::int32_t>& ids) {
  impl_->encode(text, ids);
}

std::int32_t Tokenizer::pad_id() const { return impl_->special_id(0); }
std::int32_t Tokenizer::unknown_id() const { return impl_->special_id(1); }
std::int32_t Tokenizer::cls_id() const { return impl_->special_id(2); }
std::int32_t Tokenizer::sep_id() const { return impl_->special_id(3); }

}  // namespace bp::trainer

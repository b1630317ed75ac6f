#include "trainer/input/encoding.h"

#include <iconv.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/input_error.h"
#include "base/nearest.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

struct EncodingName {
  std::string_view other;
  std::string_view name;
};

// Names of Python and of people that iconv does not know.
constexpr std::array kOtherEncodingNames{
    EncodingName{"auto", kFindEncoding},    EncodingName{"utf8", "utf-8"},
    EncodingName{"utf-8-sig", "utf-8"},     EncodingName{"latin-1", "iso-8859-1"},
    EncodingName{"latin-9", "iso-8859-15"}, EncodingName{"mac-roman", "macintosh"},
    EncodingName{"shift-jis", "shift_jis"}, EncodingName{"utf-16-le", "utf-16le"},
    EncodingName{"utf-16-be", "utf-16be"},
};

constexpr std::array<std::string_view, 12> kUsualEncodings{
    "auto",         "utf-8",  "utf-16",    "utf-16le", "utf-32", "latin-1",
    "windows-1252", "cp1252", "macintosh", "gb18030",  "big5",   "shift_jis"};

bool iconv_knows(const std::string& name) {
  // iconv takes "", "char" and "wchar_t" for encodings of this process, and options after a slash.
  const bool is_name = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
           c == ':' || c == '+';
  });
  if (!is_name || name.empty() || name == "char" || name == "wchar_t") return false;
  const iconv_t converter = ::iconv_open("UTF-8", name.c_str());
  // iconv_open() returns -1, cast to a pointer, for an error.
  if (reinterpret_cast<std::intptr_t>(converter) == -1) return false;
  ::iconv_close(converter);
  return true;
}

// More bytes than iconv writes for one character.
constexpr std::size_t kAnyCharacter = 64;

class EncodedInput final : public ByteInput {
 public:
  EncodedInput(std::unique_ptr<ByteInput> source, std::string encoding)
      : source_(std::move(source)),
        encoding_(std::move(encoding)),
        block_(std::size_t{1} << 16),
        characters_(kAnyCharacter, '\0') {
    const iconv_t converter = ::iconv_open("UTF-8", encoding_.c_str());
    // iconv_open() returns -1, cast to a pointer, for an error.
    BP_CHECK(reinterpret_cast<std::intptr_t>(converter) != -1, "iconv refuses a name that it knew");
    converter_.reset(converter);
  }
  [[nodiscard]] const char* content_name() const override { return "the file in UTF-8"; }

 private:
  struct Close {
    void operator()(void* converter) const { ::iconv_close(converter); }
  };

  std::size_t read_next(std::span<char> room) override {
    if (pending_.empty() && room.size() >= kAnyCharacter) return convert(room);
    if (pending_.empty()) pending_ = {characters_.data(), convert(characters_)};
    const std::size_t count = std::min(room.size(), pending_.size());
    std::copy_n(pending_.data(), count, room.data());
    pending_.remove_prefix(count);
    return count;
  }
  // Writes at least one byte to `room`, which holds any character, unless the end is reached.
  std::size_t convert(std::span<char> room) {
    for (;;) {
      if (rest_.empty() && !source_ended_) fetch();
      char* in = rest_.data();
      std::size_t in_left = rest_.size();
      char* out = room.data();
      std::size_t out_left = room.size();
      // At the end, iconv writes what it still holds.
      const std::size_t result =
          ::iconv(converter_.get(), in_left == 0 ? nullptr : &in, &in_left, &out, &out_left);
      const int error = result == static_cast<std::size_t>(-1) ? errno : 0;
      const std::size_t used = rest_.size() - in_left;
      rest_ = rest_.subspan(used);
      offset_ += static_cast<std::int64_t>(used);
      if (out_left < room.size()) return room.size() - out_left;
      if (error == EILSEQ) fail("is not");
      if (error == EINVAL && source_ended_) fail("begins a character that is not complete in");
      if (error == EINVAL) fetch();
      if (rest_.empty() && source_ended_) return 0;
    }
  }
  // Keeps the bytes of a character that is not yet complete.
  void fetch() {
    std::copy(rest_.begin(), rest_.end(), block_.begin());
    const std::size_t count = source_->read(std::span(block_).subspan(rest_.size()));
    source_ended_ = count == 0;
    rest_ = {block_.data(), rest_.size() + count};
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw BrokenInput(
        65, concat(source_->name_of_byte(rest_.front(), offset_), " ", problem, " ", encoding_),
        "name the encoding that the file has: --encoding");
  }

  std::unique_ptr<ByteInput> source_;
  std::string encoding_;
  std::unique_ptr<void, Close> converter_;
  std::vector<char> block_;
  std::span<char> rest_;     // what is not yet converted of block_
  std::int64_t offset_ = 0;  // of rest_ in the source
  bool source_ended_ = false;
  std::string characters_;    // for callers with room for less than a character
  std::string_view pending_;  // of characters_
};

}  // namespace

std::string parse_encoding(const std::string& word) {
  std::string name = lower_case(word);
  std::string with_dashes = name;
  std::replace(with_dashes.begin(), with_dashes.end(), '_', '-');
  for (const EncodingName& other : kOtherEncodingNames) {
    if (with_dashes == other.other) return std::string(other.name);
  }
  if (iconv_knows(name)) return name;
  if (iconv_knows(with_dashes)) return with_dashes;
  throw InputError(2, concat("--encoding: '", word, "' is not an encoding that iconv knows"),
                   did_you_mean(name, {kUsualEncodings.begin(), kUsualEncodings.end()},
                                "auto, utf-8, utf-16, latin-1, windows-1252, or another name that "
                                "iconv -l lists"));
}

std::unique_ptr<ByteInput> in_utf8(std::unique_ptr<ByteInput> source, const std::string& encoding) {
  return std::make_unique<EncodedInput>(std::move(source), encoding);
}

}  // namespace bp::trainer

#include "trainer/data/encoded_input.h"

#include <iconv.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

// More bytes than iconv writes for one character.
constexpr std::size_t kAnyCharacter = 64;

}  // namespace

EncodedInput::EncodedInput(std::unique_ptr<ByteInput> source, std::string encoding)
    : source_(std::move(source)),
      encoding_(std::move(encoding)),
      block_(std::size_t{1} << 16),
      characters_(kAnyCharacter, '\0') {
  const iconv_t converter = ::iconv_open("UTF-8", encoding_.c_str());
  // iconv_open() returns -1, cast to a pointer, for an error.
  BP_CHECK(reinterpret_cast<std::intptr_t>(converter) != -1, "iconv refuses a name that it knew");
  converter_.reset(converter);
}

void EncodedInput::Close::operator()(void* converter) const { ::iconv_close(converter); }

std::size_t EncodedInput::read_next(std::span<char> room) {
  if (pending_.empty() && room.size() >= kAnyCharacter) return convert(room);
  if (pending_.empty()) pending_ = {characters_.data(), convert(characters_)};
  const std::size_t count = std::min(room.size(), pending_.size());
  std::copy_n(pending_.data(), count, room.data());
  pending_.remove_prefix(count);
  return count;
}

std::size_t EncodedInput::convert(std::span<char> room) {
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
void EncodedInput::fetch() {
  std::copy(rest_.begin(), rest_.end(), block_.begin());
  const std::size_t count = source_->read(std::span(block_).subspan(rest_.size()));
  source_ended_ = count == 0;
  rest_ = {block_.data(), rest_.size() + count};
}

void EncodedInput::fail(const std::string& problem) const {
  constexpr char kHex[] = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(rest_.front());
  throw BrokenInput(65,
                    concat("byte 0x", kHex[byte >> 4], kHex[byte & 0xFU], " at offset ", offset_,
                           " of ", source_->content_name(), " ", problem, " ", encoding_),
                    "name the encoding that the file has: --encoding");
}

}  // namespace bp::trainer

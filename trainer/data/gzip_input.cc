#include "trainer/data/gzip_input.h"

#include <algorithm>
#include <new>
#include <span>

namespace bp::trainer {

GzipInput::GzipInput(std::unique_ptr<ByteInput> packed)
    : CompressedInput(std::move(packed), "gzip") {
  constexpr int kGzipOnly = 16;
  if (::inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
}

GzipInput::~GzipInput() { ::inflateEnd(&stream_); }

CompressedInput::Step GzipInput::unpack(std::string_view packed, std::span<char> room) {
  // zlib does not write to its input, but takes a pointer to bytes that are not const.
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream_.avail_in = static_cast<uInt>(packed.size());
  stream_.next_out = reinterpret_cast<Bytef*>(room.data());
  stream_.avail_out = static_cast<uInt>(std::min(room.size(), std::size_t{1} << 30));
  const uInt wanted = stream_.avail_out;
  const int result = ::inflate(&stream_, Z_NO_FLUSH);
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  Step step{.used = packed.size() - stream_.avail_in,
            .made = wanted - stream_.avail_out,
            .member_ends = result == Z_STREAM_END};
  if (step.member_ends) ::inflateReset(&stream_);
  // Z_BUF_ERROR only says that there are no packed bytes.
  if (result == Z_DATA_ERROR || result == Z_NEED_DICT || result == Z_STREAM_ERROR) {
    step.problem = stream_.msg == nullptr ? "no gzip data" : stream_.msg;
    step.no_member = step.problem == "incorrect header check";
  }
  return step;
}

std::size_t GzipInput::padding(std::string_view packed) const {
  return std::min(packed.find_first_not_of('\0'), packed.size());
}

}  // namespace bp::trainer

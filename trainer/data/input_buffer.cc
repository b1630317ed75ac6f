#include "trainer/data/input_buffer.h"

#include <cstring>
#include <utility>

#include "base/text.h"

namespace bp::trainer {

InputBuffer::InputBuffer(std::unique_ptr<ByteInput> input)
    : input_(std::move(input)), bytes_(std::size_t{1} << 18) {}

std::string InputBuffer::offset_text(std::size_t at) const {
  return concat("offset ", offset_ + static_cast<std::int64_t>(at),
                input_->is_file_itself() ? " of the file" : " of the unpacked file");
}

bool InputBuffer::refill(std::size_t used) {
  std::memmove(bytes_.data(), bytes_.data() + used, filled_ - used);
  offset_ += static_cast<std::int64_t>(used);
  filled_ -= used;
  if (filled_ == bytes_.size()) {
    if (filled_ >= kLongestRow) return false;
    bytes_.resize(bytes_.size() * 2);
  }
  const std::size_t count = input_->read(std::span(bytes_).subspan(filled_));
  at_end_ = count == 0;
  filled_ += count;
  return true;
}

}  // namespace bp::trainer

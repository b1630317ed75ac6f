#include "trainer/input/input_buffer.h"

#include <cstring>
#include <utility>

#include "base/text.h"

namespace bp::trainer {

InputBuffer::InputBuffer(std::unique_ptr<ByteInput> input)
    : input_(std::move(input)), bytes_(std::size_t{1} << 18) {}

InputError InputBuffer::not_utf8(const std::string& place, std::size_t at) const {
  return {65,
          concat(place, ": is not UTF-8: ",
                 input_->name_of_byte(bytes_[at], offset_ + static_cast<std::int64_t>(at))),
          input_->encoding_hint()};
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

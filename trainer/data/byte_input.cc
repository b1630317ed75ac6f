#include "trainer/data/byte_input.h"

#include <algorithm>

namespace bp::trainer {

std::string_view ByteInput::start() {
  if (!start_.empty() || failure_) return start_;
  constexpr std::size_t kStart = std::size_t{1} << 14;
  start_.resize(kStart);
  std::size_t filled = 0;
  try {
    while (filled < kStart) {
      const std::size_t count = read_next(std::span(start_).subspan(filled));
      if (count == 0) break;
      filled += count;
    }
  } catch (const BrokenInput&) {
    failure_ = std::current_exception();
  }
  start_.resize(filled);
  return start_;
}

std::size_t ByteInput::read(std::span<char> room) {
  if (start_used_ < start_.size()) {
    const std::size_t count = std::min(room.size(), start_.size() - start_used_);
    std::copy_n(start_.data() + start_used_, count, room.data());
    start_used_ += count;
    return count;
  }
  if (failure_) std::rethrow_exception(failure_);
  return read_next(room);
}

}  // namespace bp::trainer

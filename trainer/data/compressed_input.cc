#include "trainer/data/compressed_input.h"

#include <utility>

#include "base/text.h"

namespace bp::trainer {

CompressedInput::CompressedInput(std::unique_ptr<ByteInput> packed, std::string program)
    : packed_(std::move(packed)), program_(std::move(program)), block_(std::size_t{1} << 16) {}

std::size_t CompressedInput::read_next(std::span<char> room) {
  for (;;) {
    if (!last_.problem.empty()) fail();
    if (rest_.empty() && !packed_ended_) fetch();
    if (!in_member_) {
      if (has_member_) advance(padding(rest_));
      if (rest_.empty() && packed_ended_) return 0;
      if (rest_.empty()) continue;
      member_ = offset_;
    }
    last_ = unpack(rest_, room);
    advance(last_.used);
    in_member_ = !last_.member_ends;
    has_member_ = has_member_ || last_.member_ends;
    if (last_.made > 0) return last_.made;
    if (last_.problem.empty() && in_member_ && rest_.empty() && packed_ended_) {
      throw BrokenInput(65,
                        concat("the file ends inside its ", program_, " data, at offset ", offset_),
                        concat("it was not copied or downloaded to its end; ", advice()));
    }
  }
}

void CompressedInput::fetch() {
  const std::size_t count = packed_->read(block_);
  rest_ = {block_.data(), count};
  packed_ended_ = count == 0;
}

void CompressedInput::advance(std::size_t used) {
  rest_.remove_prefix(used);
  offset_ += static_cast<std::int64_t>(used);
}

void CompressedInput::fail() const {
  if (last_.no_member && has_member_) {
    throw BrokenInput(65,
                      concat("other bytes follow its ", program_, " data, from offset ", member_),
                      concat("remove them, or join only files that ", program_, " has compressed"));
  }
  if (!last_.hint.empty()) throw BrokenInput(65, last_.problem, last_.hint);
  throw BrokenInput(65,
                    concat("its ", program_, " data are damaged at offset ", offset_,
                           " of the file (", last_.problem, ")"),
                    advice());
}

std::string CompressedInput::advice() const {
  return concat("copy or download it again; ", program_, " -t FILE tests it");
}

}  // namespace bp::trainer

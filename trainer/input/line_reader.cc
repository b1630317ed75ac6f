#include "trainer/input/line_reader.h"

#include <cstring>
#include <utility>

#include "base/input_error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trainer/input/open_input.h"

namespace bp::trainer {

LineReader::LineReader(std::string path, const std::string& encoding, LineNames names)
    : LineReader(path, open_input(path, encoding), std::move(names)) {}

LineReader::LineReader(std::string path, std::unique_ptr<ByteInput> input, LineNames names)
    : path_(std::move(path)), names_(std::move(names)), in_(std::move(input)) {
  if (!names_.place) {
    names_.place = [file = path_](std::int64_t line) { return concat(file, ", line ", line); };
  }
  refill();
  if (std::string_view(in_.data(), in_.size()).starts_with(kByteOrderMark)) {
    next_ = kByteOrderMark.size();
  }
}

bool LineReader::next() {
  std::size_t searched = next_;
  for (;;) {
    const char* begin = in_.data() + next_;
    const void* found = std::memchr(in_.data() + searched, '\n', in_.size() - searched);
    const char* end = static_cast<const char*>(found);
    if (end != nullptr || in_.at_end()) {
      if (end == nullptr && next_ == in_.size()) return false;
      const char* stop = end == nullptr ? in_.data() + in_.size() : end;
      text_ = {begin, static_cast<std::size_t>(stop - begin)};
      next_ = static_cast<std::size_t>(stop - in_.data()) + (end == nullptr ? 0 : 1);
      ++line_;
      if (const std::size_t bad = find_invalid_utf8(text_); bad != std::string_view::npos) {
        throw BadRow(
            in_.not_utf8(place(), static_cast<std::size_t>(text_.data() - in_.data()) + bad));
      }
      if (text_.ends_with('\r')) text_.remove_suffix(1);
      return true;
    }
    searched = in_.size() - next_;
    refill();
  }
}

void LineReader::refill() {
  try {
    if (in_.refill(std::exchange(next_, 0))) return;
  } catch (const BrokenInput& broken) {
    const bool in_line = in_.size() > 0;
    ++line_;
    throw InputError(broken.exit_code(), concat(in_line ? place() : path_, ": ", broken.what()),
                     broken.hint());
  }
  ++line_;
  throw InputError(65, concat(place(), ": is longer than ", InputBuffer::kLongestRow >> 20, " MiB"),
                   names_.too_long_hint);
}

}  // namespace bp::trainer

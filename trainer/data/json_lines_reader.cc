#include "trainer/data/json_lines_reader.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/json_object.h"
#include "trainer/data/open_input.h"
#include "trainer/text/utf8.h"

namespace bp::trainer {

JsonLinesReader::JsonLinesReader(std::string path,
                                 const std::vector<std::string>& keys,
                                 const std::string& encoding)
    : path_(std::move(path)), in_(open_input(path_, encoding)), fields_(keys.begin(), keys.end()) {
  refill();
  if (std::string_view(in_.data(), in_.size()).starts_with(kByteOrderMark)) {
    next_ = kByteOrderMark.size();
  }
}

bool JsonLinesReader::next() {
  do {
    if (!next_line()) return false;
  } while (line_text_.find_first_not_of(" \t\r") == std::string_view::npos);
  ++row_;
  const auto begin = static_cast<std::size_t>(line_text_.data() - in_.data());
  if (const std::size_t bad = find_invalid_utf8(line_text_); bad != std::string_view::npos) {
    throw in_.not_utf8(place(), begin + bad);
  }
  try {
    read_json_object(line_text_, fields_);
  } catch (const BadJson& bad) {
    throw InputError(65, concat(place(), ": ", bad.what()), bad.hint());
  }
  return true;
}

std::string JsonLinesReader::place() const {
  return concat(path_, ", row ", row_, " (line ", line_, ")");
}

bool JsonLinesReader::next_line() {
  std::size_t searched = next_;
  for (;;) {
    const char* begin = in_.data() + next_;
    const void* found = std::memchr(in_.data() + searched, '\n', in_.size() - searched);
    const char* end = static_cast<const char*>(found);
    if (end != nullptr || in_.at_end()) {
      if (end == nullptr && next_ == in_.size()) return false;
      const char* stop = end == nullptr ? in_.data() + in_.size() : end;
      line_text_ = {begin, static_cast<std::size_t>(stop - begin)};
      next_ = static_cast<std::size_t>(stop - in_.data()) + (end == nullptr ? 0 : 1);
      ++line_;
      return true;
    }
    searched = in_.size() - next_;
    refill();
  }
}

void JsonLinesReader::refill() {
  try {
    if (in_.refill(std::exchange(next_, 0))) return;
  } catch (const BrokenInput& broken) {
    const bool in_row = in_.size() > 0;
    ++row_;
    ++line_;
    throw InputError(broken.exit_code(), concat(in_row ? place() : path_, ": ", broken.what()),
                     broken.hint());
  }
  ++row_;
  ++line_;
  throw InputError(65, concat(place(), ": is longer than ", InputBuffer::kLongestRow >> 20, " MiB"),
                   "in JSON lines, a line break follows each object");
}

}  // namespace bp::trainer

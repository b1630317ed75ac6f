// Reads numbers and names from the bytes of a pickle, never beyond their end. Only for
// pickle_machine.cc.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/byte_source.h"

namespace bp::trainer {

// The bytes of the pickle, and the position in them.
class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  // Throws `text` with the position of the current operation.
  [[noreturn]] void refuse(const std::string& text) const {
    throw Error(ErrorCode::invalid_argument, concat("the pickle's byte ", begin_, ": ", text));
  }
  unsigned next_operation() {
    begin_ = at_;
    return number<std::uint8_t>();
  }
  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) {
      refuse(concat(count, " bytes are needed, but ", bytes_.size() - at_, " are left"));
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  template <class T>
  T number() {
    return little_endian<T>(take(sizeof(T)).data());
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) refuse("a name does not end");
    const std::string_view text = take(end - at_);
    ++at_;
    return text;
  }
  // Reads a number of up to 8 bytes, in two's complement.
  std::int64_t long_number() {
    const std::size_t count = number<std::uint8_t>();
    if (count > 8) refuse(concat("a number of ", count, " bytes"));
    const std::string_view bytes = take(count);
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
    std::string wide(8, negative ? '\xff' : '\0');
    std::copy(bytes.begin(), bytes.end(), wide.begin());
    return little_endian<std::int64_t>(wide.data());
  }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
};

}  // namespace bp::trainer

// The part of an input that a reader of rows looks at: from the row that is being read to the last
// byte that has been read. Grows with the longest row.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "trainer/input/byte_input.h"

namespace bp::trainer {

class InputBuffer {
 public:
  // No row has more bytes. This limit detects a quote that is never closed at the latest.
  static constexpr std::size_t kLongestRow = std::size_t{1} << 28;

  explicit InputBuffer(std::unique_ptr<ByteInput> input);

  [[nodiscard]] char* data() { return bytes_.data(); }
  [[nodiscard]] const char* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return filled_; }
  [[nodiscard]] bool at_end() const { return at_end_; }  // no byte follows
  // Returns the error (65) for data()[at], a byte that is not UTF-8.
  [[nodiscard]] InputError not_utf8(const std::string& place, std::size_t at) const;

  // Drops the first `used` bytes and reads more behind the others. data() changes. Returns false,
  // without reading, if the others are kLongestRow bytes. Throws BrokenInput, with the others still
  // in the buffer.
  [[nodiscard]] bool refill(std::size_t used);

 private:
  std::unique_ptr<ByteInput> input_;
  std::vector<char> bytes_;
  std::size_t filled_ = 0;
  std::int64_t offset_ = 0;  // of bytes_[0] in the content
  bool at_end_ = false;
};

}  // namespace bp::trainer

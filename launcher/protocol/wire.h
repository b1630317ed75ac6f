// The encoding of a message: fixed-size little-endian integers, and strings preceded by a 32-bit
// length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bp::launcher {

class WireWriter {
 public:
  void u8(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void i32(std::int32_t value) { u32(static_cast<std::uint32_t>(value)); }
  void string(std::string_view value);
  void strings(std::span<const std::string> values);
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Reads a message. Every read throws io if too few bytes are left or a count is impossible.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  [[nodiscard]] std::uint8_t u8() { return static_cast<std::uint8_t>(take(1)[0]); }
  [[nodiscard]] std::uint32_t u32();
  [[nodiscard]] std::uint64_t u64();
  [[nodiscard]] std::int32_t i32() { return static_cast<std::int32_t>(u32()); }
  [[nodiscard]] std::string_view string() { return take(u32()); }
  [[nodiscard]] std::vector<std::string> strings();
  // Reads the number of entries that follow, which each take at least `least_bytes`.
  [[nodiscard]] std::uint32_t count(std::size_t least_bytes);
  void expect_end() const;

 private:
  std::string_view take(std::size_t bytes);
  std::string_view rest_;
};

}  // namespace bp::launcher

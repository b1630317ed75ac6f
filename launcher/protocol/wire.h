// The encoding of a message: fixed-size little-endian integers, and strings preceded by a 32-bit
// length. fields(wire, record) says what a record has (base/fields.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.h"

namespace bp::launcher {

class WireWriter {
 public:
  // Numbers of 8, 32 and 64 bits, truth values, enums of two values, strings, keys, records, and
  // vectors of these.
  template <class... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  void put(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  void put(std::uint32_t value);
  void put(std::uint64_t value);
  void put(std::int32_t value) { put(static_cast<std::uint32_t>(value)); }
  void put(bool value) { put(static_cast<std::uint8_t>(value ? 1 : 0)); }
  void put(std::string_view value);
  void put(const std::string& value) { put(std::string_view(value)); }
  template <class Value>
  void put(const std::vector<Value>& values) {
    put(static_cast<std::uint32_t>(values.size()));
    for (const Value& value : values) put(value);
  }
  template <class Value>
  void put(const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      put(static_cast<std::uint8_t>(value));
    } else {
      fields(*this, value);
    }
  }

  std::string bytes_;
};

// Reads a message. Every read throws io if too few bytes are left or a count is impossible.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  void expect_end() const;

 private:
  void get(std::uint8_t& value) { value = static_cast<std::uint8_t>(take(1)[0]); }
  void get(std::uint32_t& value);
  void get(std::uint64_t& value);
  void get(std::int32_t& value);
  void get(bool& value) { value = take(1)[0] != 0; }
  void get(std::string_view& value);  // it points into the message
  void get(std::string& value);
  template <class Value>
  void get(std::vector<Value>& values) {
    WireWriter least;  // an entry takes at least the bytes of an empty one
    least(Value());
    values.resize(count(least.take().size()));
    for (Value& value : values) get(value);
  }
  template <class Value>
  void get(Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      value = static_cast<Value>(take(1)[0] != 0);
    } else {
      fields(*this, value);
    }
  }

  // Reads the number of entries that follow, which each take at least `least_bytes`.
  std::uint32_t count(std::size_t least_bytes);
  std::string_view take(std::size_t bytes);

  std::string_view rest_;
};

}  // namespace bp::launcher

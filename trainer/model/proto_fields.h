// Encodes fields of Google's protocol buffers: https://protobuf.dev/programming-guides/encoding.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace bp::trainer {

// Appends a number in groups of 7 bits, the lowest first.
inline void append_varint(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7U) to += static_cast<char>(number | 0x80U);
  to += static_cast<char>(number);
}

// Appends the key of a field. Wire types: 0 is a varint, 2 has a length, 5 has four bytes.
inline void append_key(std::string& to, int field, unsigned wire_type) {
  append_varint(to, static_cast<unsigned>(field) << 3U | wire_type);
}

inline void append_integer(std::string& to, int field, std::int64_t number) {
  append_key(to, field, 0);
  append_varint(to, static_cast<std::uint64_t>(number));
}

// Appends a text or a message.
inline void append_bytes(std::string& to, int field, std::string_view bytes) {
  append_key(to, field, 2);
  append_varint(to, bytes.size());
  to += bytes;
}

inline void append_float(std::string& to, int field, float number) {
  append_key(to, field, 5);
  const auto bits = std::bit_cast<std::uint32_t>(number);
  for (unsigned shift = 0; shift < 32; shift += 8) to += static_cast<char>(bits >> shift);
}

}  // namespace bp::trainer

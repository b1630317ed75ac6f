// Encodes a message of Protocol Buffers, field by field:
// https://protobuf.dev/programming-guides/encoding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace bp::trainer {

class ProtobufMessage {
 public:
  // Each function appends a field with this number and returns the message.
  ProtobufMessage& integer(int field, std::int64_t value);
  ProtobufMessage& real(int field, double value);
  ProtobufMessage& single(int field, float value);
  ProtobufMessage& bytes(int field, std::string_view value);
  ProtobufMessage& message(int field, const ProtobufMessage& value);
  // The field has `size` bytes, which the caller writes behind text().
  ProtobufMessage& begin_bytes(int field, std::size_t size);
  ProtobufMessage& packed(int field, std::span<const double> values);
  ProtobufMessage& packed(int field, std::span<const float> values);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t value);
  void key(int field, int wire_type);

  std::string text_;
};

// Appends the bytes of a number, the lowest first.
template <class Number>
void append_little_endian(std::string& to, Number number);

}  // namespace bp::trainer

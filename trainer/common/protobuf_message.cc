#include "trainer/common/protobuf_message.h"

#include <bit>
#include <cstring>

namespace bp::trainer {
namespace {

// Wire types.
constexpr int kVarint = 0;
constexpr int kEightBytes = 1;
constexpr int kLengthAndBytes = 2;
constexpr int kFourBytes = 5;

}  // namespace

template <class Number>
void append_little_endian(std::string& to, Number number) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  to.append(bytes, sizeof(number));
}
template void append_little_endian(std::string&, double);
template void append_little_endian(std::string&, float);
template void append_little_endian(std::string&, std::uint32_t);
template void append_little_endian(std::string&, std::uint64_t);

void ProtobufMessage::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>((value & 0x7F) | 0x80);
  text_ += static_cast<char>(value);
}

void ProtobufMessage::key(int field, int wire_type) {
  varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

ProtobufMessage& ProtobufMessage::integer(int field, std::int64_t value) {
  key(field, kVarint);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}

ProtobufMessage& ProtobufMessage::real(int field, double value) {
  key(field, kEightBytes);
  append_little_endian(text_, value);
  return *this;
}

ProtobufMessage& ProtobufMessage::single(int field, float value) {
  key(field, kFourBytes);
  append_little_endian(text_, value);
  return *this;
}

ProtobufMessage& ProtobufMessage::bytes(int field, std::string_view value) {
  begin_bytes(field, value.size());
  text_ += value;
  return *this;
}

ProtobufMessage& ProtobufMessage::begin_bytes(int field, std::size_t size) {
  key(field, kLengthAndBytes);
  varint(size);
  return *this;
}

ProtobufMessage& ProtobufMessage::message(int field, const ProtobufMessage& value) {
  return bytes(field, value.text());
}

ProtobufMessage& ProtobufMessage::packed(int field, std::span<const double> values) {
  std::string all;
  for (const double value : values) append_little_endian(all, value);
  return bytes(field, all);
}

ProtobufMessage& ProtobufMessage::packed(int field, std::span<const float> values) {
  std::string all;
  for (const float value : values) append_little_endian(all, value);
  return bytes(field, all);
}

}  // namespace bp::trainer

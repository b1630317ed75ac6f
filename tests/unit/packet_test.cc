#include "comm/message/packet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "comm/transport/transport.h"

namespace bp {
namespace {

using Kind = PacketHeader::Kind;

// Returns the packet that a rank reads if this header arrives, or nothing if it refuses the header.
std::optional<Packet> read(const PacketHeader& header) {
  static std::vector<std::byte> memory(kPacketBytes);
  std::memcpy(memory.data(), &header, sizeof(header));
  try {
    return read_packet(memory);
  } catch (const TransportFailure& refusal) {
    EXPECT_STREQ(refusal.what(), "it sent a broken packet");
    return std::nullopt;
  }
}

PacketHeader header_of(Kind kind, std::uint64_t count, DataType type) {
  PacketHeader header;
  header.kind = kind;
  header.count = count;
  header.type = type;
  return header;
}

TEST(Packets, EagerMessageHasItsBytesBehindTheHeader) {
  EXPECT_EQ(read(header_of(Kind::eager, 3, DataType::i64))->payload.size(), 24U);
  EXPECT_EQ(read(header_of(Kind::eager, 0, DataType::f32))->payload.size(), 0U);
  EXPECT_EQ(read(header_of(Kind::eager, kEagerBytes, DataType::u8))->payload.size(), kEagerBytes);
  EXPECT_EQ(read(header_of(Kind::rendezvous, 3, DataType::i64))->payload.size(), 0U);
  EXPECT_TRUE(read(header_of(Kind::rendezvous, std::uint64_t{1} << 40, DataType::f64)));
}

TEST(Packets, HeadersThatNoRankSendsAreRefused) {
  EXPECT_FALSE(read(header_of(Kind::eager, kEagerBytes + 1, DataType::u8)));
  EXPECT_FALSE(read(header_of(Kind::eager, kEagerBytes / 8 + 1, DataType::f64)));
  // 2^61 times eight bytes overflow to 0 in 64 bits.
  for (const Kind kind : {Kind::eager, Kind::rendezvous}) {
    EXPECT_FALSE(read(header_of(kind, std::uint64_t{1} << 61, DataType::i64)));
  }
  EXPECT_FALSE(read(header_of(static_cast<Kind>(4), 0, DataType::u8)));
  EXPECT_FALSE(read(header_of(Kind::eager, 1, static_cast<DataType>(kDataTypes.size()))));
  PacketHeader long_name;
  long_name.name_bytes = PacketHeader::kNameShown + 1;
  EXPECT_FALSE(read(long_name));
}

TEST(Packets, TruncatedPayloadIsRefused) {
  std::vector<std::byte> memory(sizeof(PacketHeader) + 7);
  const PacketHeader header = header_of(Kind::eager, 2, DataType::f32);
  std::memcpy(memory.data(), &header, sizeof(header));
  EXPECT_THROW((void)read_packet(memory), TransportFailure);
}

}  // namespace
}  // namespace bp

#include "comm/message/packet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "comm/transport/transport.h"

namespace bp {
namespace {

using Kind = PacketHeader::Kind;

// Returns the packet that a rank reads if this header arrives.
Packet read(const PacketHeader& header) {
  static std::vector<std::byte> memory(kPacketBytes);
  std::memcpy(memory.data(), &header, sizeof(header));
  return read_packet(memory);
}

// Returns why a rank refuses this header, without the beginning and the end that all reasons have.
std::string problem_of(const PacketHeader& header) {
  const std::string begin = "it sent a broken packet: ";
  const std::string end = " (do all ranks run the same version of bp?)";
  try {
    (void)read(header);
  } catch (const TransportFailure& refusal) {
    const std::string text = refusal.what();
    EXPECT_THAT(text, testing::AllOf(testing::StartsWith(begin), testing::EndsWith(end)));
    return text.substr(begin.size(), text.size() - begin.size() - end.size());
  }
  return "no error";
}

PacketHeader header_of(Kind kind, std::uint64_t count, DataType type) {
  PacketHeader header;
  header.kind = kind;
  header.count = count;
  header.type = type;
  return header;
}

TEST(Packets, EagerMessageHasItsBytesBehindTheHeader) {
  EXPECT_EQ(read(header_of(Kind::eager, 3, DataType::i64)).payload.size(), 24U);
  EXPECT_EQ(read(header_of(Kind::eager, 0, DataType::f32)).payload.size(), 0U);
  EXPECT_EQ(read(header_of(Kind::eager, kEagerBytes, DataType::u8)).payload.size(), kEagerBytes);
  EXPECT_EQ(read(header_of(Kind::rendezvous, 3, DataType::i64)).payload.size(), 0U);
  EXPECT_EQ(problem_of(header_of(Kind::rendezvous, std::uint64_t{1} << 40, DataType::f64)),
            "no error");
}

TEST(Packets, HeadersThatNoRankSendsAreRefused) {
  EXPECT_EQ(problem_of(header_of(Kind::eager, kEagerBytes + 1, DataType::u8)),
            "it has 65537 u8 elements, and there is room for 65536");
  EXPECT_EQ(problem_of(header_of(Kind::eager, kEagerBytes / 8 + 1, DataType::f64)),
            "it has 8193 f64 elements, and there is room for 8192");
  // 2^61 times eight bytes overflow to 0 in 64 bits.
  EXPECT_EQ(problem_of(header_of(Kind::eager, std::uint64_t{1} << 61, DataType::i64)),
            "it has 2305843009213693952 i64 elements, and there is room for 8192");
  EXPECT_EQ(problem_of(header_of(Kind::rendezvous, std::uint64_t{1} << 61, DataType::i64)),
            "it has 2305843009213693952 i64 elements, and there is room for 2305843009213693951");
  EXPECT_EQ(problem_of(header_of(static_cast<Kind>(4), 0, DataType::u8)),
            "its kind is number 4, which does not exist");
  EXPECT_EQ(problem_of(header_of(Kind::eager, 1, static_cast<DataType>(kDataTypes.size()))),
            "it has elements of type number 11, which does not exist");
  PacketHeader long_name;
  long_name.name_bytes = PacketHeader::kNameShown + 1;
  EXPECT_EQ(problem_of(long_name), "it shows 81 bytes of its name, and the most is 80");
}

TEST(Packets, TruncatedPayloadIsRefused) {
  std::vector<std::byte> memory(sizeof(PacketHeader) + 7);
  const PacketHeader header = header_of(Kind::eager, 2, DataType::f32);
  std::memcpy(memory.data(), &header, sizeof(header));
  EXPECT_THROW((void)read_packet(memory), TransportFailure);
}

}  // namespace
}  // namespace bp

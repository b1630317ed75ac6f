// The bytes of the protocol: messages, frames, proofs and MACs. docs/store.md shows the same
// example.
#include "comm/store/store_wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "comm/store/handshake.h"
#include "comm/store/seal.h"

namespace bp {
namespace {

using ::testing::Not;
using ::testing::Optional;

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

const StoreMessage kExample{.op = StoreOp::set, .id = 1, .strings = {"epoch", "3"}};

TEST(StoreMessage, IsTheBytesOfTheExample) {
  EXPECT_EQ(hex(encode_message(kExample)),
            "10"                // set
            "0000000000000001"  // id 1
            "0000000000000000"  // number
            "00000002"          // two strings
            "00000005"
            "65706f6368"  // "epoch"
            "00000001"
            "33");  // "3"
}

TEST(StoreMessage, SurvivesEncodingAndDecoding) {
  for (const StoreMessage& message :
       {kExample, StoreMessage{.op = StoreOp::add, .id = ~0ULL, .number = -7, .strings = {"n"}},
        StoreMessage{.op = StoreOp::missing, .id = 1}, StoreMessage{.op = StoreOp::goodbye},
        StoreMessage{.op = StoreOp::compare_set, .strings = {"", "", std::string(3, '\0')}},
        StoreMessage{.op = StoreOp::wait, .strings = std::vector<std::string>(1000, "key")}}) {
    EXPECT_THAT(decode_message(encode_message(message)), Optional(message));
  }
}

TEST(StoreMessage, CutOrLongerIsRefused) {
  const std::string body = encode_message(kExample);
  for (std::size_t size = 0; size < body.size(); ++size) {
    EXPECT_EQ(decode_message(body.substr(0, size)), std::nullopt) << size;
  }
  EXPECT_EQ(decode_message(body + '\0'), std::nullopt);
}

TEST(StoreMessage, UnknownOpIsRefused) {
  for (int op = 0; op < 256; ++op) {
    std::string body = encode_message({.op = StoreOp::goodbye});
    body[0] = static_cast<char>(op);
    const bool without_strings = op == 4 || op == 5 || op == 20 || (op >= 26 && op <= 29) ||
                                 op == 32 || op == 34 || op == 36 || op == 49;
    EXPECT_EQ(decode_message(body).has_value(), without_strings) << op;
  }
}

TEST(StoreMessage, NumberAndSizesOfStringsAreThoseOfTheOp) {
  const auto decodes = [](const StoreMessage& message) {
    return decode_message(encode_message(message)).has_value();
  };
  EXPECT_FALSE(decodes({.op = StoreOp::set, .strings = {"key"}}));
  EXPECT_FALSE(decodes({.op = StoreOp::set, .strings = {"key", "value", "more"}}));
  EXPECT_FALSE(decodes({.op = StoreOp::wait}));
  EXPECT_TRUE(decodes({.op = StoreOp::get, .strings = {std::string(kMaxStoreKey, 'k')}}));
  EXPECT_FALSE(decodes({.op = StoreOp::get, .strings = {std::string(kMaxStoreKey + 1, 'k')}}));
  EXPECT_FALSE(decodes({.op = StoreOp::wait, .strings = {"", std::string(kMaxStoreKey + 1, 'k')}}));
  EXPECT_TRUE(decodes({.op = StoreOp::found, .strings = {std::string(kMaxStoreValue, 'v')}}));
  EXPECT_FALSE(decodes({.op = StoreOp::found, .strings = {std::string(kMaxStoreValue + 1, 'v')}}));
}

TEST(StoreMessage, CountBeyondTheBytesIsRefusedBeforeAllocation) {
  std::string body = encode_message({.op = StoreOp::missing});
  body.replace(body.size() - 4, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(decode_message(body), std::nullopt);
}

TEST(StoreHandshake, OtherProtocolsAndOtherVersionsAreDistinguished) {
  EXPECT_FALSE(decode_handshake("SSH-2.0-OpenSSH_9.2").has_value());
  EXPECT_FALSE(decode_handshake("bpst").has_value());
  const auto other = decode_handshake(std::string("bpst\0\0\0\1whatever", 16));
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(other->version, 1U);
  EXPECT_FALSE(other->message.has_value());
  const auto same_version = decode_handshake(encode_handshake(kExample));
  ASSERT_TRUE(same_version.has_value());
  EXPECT_THAT(same_version->message, Optional(kExample));
}

TEST(StoreFrame, EndsWhereItsLengthSays) {
  const std::string bytes = plain_frame("body") + "next";
  const FrameLimits limits{.body = 4, .mac = 0};
  for (std::size_t size = 0; size < 8; ++size) {
    EXPECT_EQ(next_frame(bytes.substr(0, size), limits).state, FrameView::State::incomplete);
  }
  EXPECT_EQ(next_frame(bytes.substr(0, 4), limits).size, 8U);
  const FrameView frame = next_frame(bytes, limits);
  EXPECT_EQ(frame.state, FrameView::State::complete);
  EXPECT_EQ(frame.body, "body");
  EXPECT_EQ(frame.size, 8U);
  EXPECT_EQ(next_frame(bytes, {.body = 3, .mac = 0}).state, FrameView::State::too_long);
}

TEST(StoreFrame, LongestLengthIsRefused) {
  const FrameLimits limits{.body = kMaxStoreBody, .mac = kFrameMac};
  EXPECT_EQ(next_frame("\xff\xff\xff\xff", limits).state, FrameView::State::too_long);
  EXPECT_EQ(next_frame(std::string("\x80\0\0\0\0\0\0\0", 8), limits).state,
            FrameView::State::too_long);
}

Bytes32 counting_from(unsigned char first) {
  Bytes32 bytes{};
  for (unsigned char& byte : bytes) {
    byte = first++;
  }
  return bytes;
}

const HandshakeFacts kFacts{.rank = 1,
                            .job = "job-1",
                            .client_nonce = counting_from(32),
                            .server_nonce = counting_from(64)};

TEST(StoreProof, IsBoundToKeyRoleAndEveryFact) {
  const JobKey key = counting_from(0);
  const Bytes32 proof = derive(key, HandshakeRole::client_proof, kFacts);
  EXPECT_EQ(derive(key, HandshakeRole::client_proof, kFacts), proof);
  EXPECT_NE(derive(counting_from(1), HandshakeRole::client_proof, kFacts), proof);
  EXPECT_NE(derive(key, HandshakeRole::server_proof, kFacts), proof);
  EXPECT_NE(derive(key, HandshakeRole::session, kFacts), proof);
  const auto differs = [&](void (*change)(HandshakeFacts&)) {
    HandshakeFacts other = kFacts;
    change(other);
    return derive(key, HandshakeRole::client_proof, other) != proof;
  };
  EXPECT_TRUE(differs([](HandshakeFacts& facts) { facts.rank = 2; }));
  EXPECT_TRUE(differs([](HandshakeFacts& facts) { facts.job = "job-2"; }));
  EXPECT_TRUE(differs([](HandshakeFacts& facts) { facts.client_nonce[31] ^= 1; }));
  EXPECT_TRUE(differs([](HandshakeFacts& facts) { facts.server_nonce[31] ^= 1; }));
}

// Returns the problem that the server finds in a client's proof with bit `bit` inverted. The bytes
// were made with Python's hmac module by the recipe in docs/store.md.
std::string problem_of_proof(std::optional<std::size_t> bit) {
  const JobKey key{};
  ServerHandshake server(key, "job");
  ClientHandshake client(key, "job", 3);
  const auto body = [](const std::string& frame) {
    return std::string_view(frame).substr(kFrameHeader);
  };
  const std::string hello = client.hello();
  const std::string challenge = server.take_hello(body(hello)).frame;
  const std::string proof = client.take_challenge(*decode_handshake(body(challenge))).frame;
  StoreMessage message = *decode_handshake(body(proof))->message;
  if (bit) {
    char& byte = message.strings[0][*bit / 8];
    byte = static_cast<char>(byte ^ (1 << *bit % 8));
  }
  return server.take_proof(encode_handshake(message)).problem;
}

TEST(StoreProof, EveryBitOfItCounts) {
  for (std::size_t bit = 0; bit < 8 * Bytes32{}.size(); ++bit) {
    EXPECT_EQ(problem_of_proof(bit), "it does not know the job's key") << "bit " << bit;
  }
  EXPECT_EQ(problem_of_proof(std::nullopt), "");
}

TEST(StoreSeal, IsTheFrameOfTheExample) {
  const Bytes32 session = derive(counting_from(0), HandshakeRole::session, kFacts);
  FrameSeal seal(session, FrameDirection::to_server);
  EXPECT_EQ(hex(view_of(session)),
            "8f1497469ec4ae88e9a69d202fbe5469673675bd2d0dc8a46edc6e79c79ea095");
  EXPECT_EQ(hex(seal.seal(encode_message(kExample))),
            "00000023" + hex(encode_message(kExample)) +
                "e92ac43e16024e390b9760d04b24cfdd9b58c77121bda22fd9e7093c36fadf56");
}

TEST(StoreSeal, EveryBitOfTheMacCounts) {
  const std::string frame = FrameSeal({}, FrameDirection::to_server).seal("body");
  const FrameView view = next_frame(frame, {.body = 100, .mac = kFrameMac});
  ASSERT_EQ(view.mac.size(), kFrameMac);
  for (std::size_t bit = 0; bit < 8 * kFrameMac; ++bit) {
    std::string mac(view.mac);
    mac[bit / 8] = static_cast<char>(mac[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(FrameSeal({}, FrameDirection::to_server).accept(view.body, mac)) << "bit " << bit;
  }
  EXPECT_FALSE(FrameSeal({}, FrameDirection::to_server).accept(view.body, view.mac.substr(1)));
  EXPECT_TRUE(FrameSeal({}, FrameDirection::to_server).accept(view.body, view.mac));
}

TEST(StoreSeal, AcceptsEachFrameOnceInOrderAndDirection) {
  const Bytes32 session = random_bytes();
  FrameSeal sender(session, FrameDirection::to_server);
  const auto mac_of = [](const std::string& frame) { return frame.substr(frame.size() - 32); };
  const std::string first = mac_of(sender.seal("a"));
  const std::string second = mac_of(sender.seal("a"));
  EXPECT_THAT(second, Not(first));
  EXPECT_TRUE(FrameSeal(session, FrameDirection::to_server).accept("a", first));
  EXPECT_FALSE(FrameSeal(session, FrameDirection::to_server).accept("b", first))
      << "an altered frame";
  EXPECT_FALSE(FrameSeal(session, FrameDirection::to_server).accept("a", second))
      << "a frame is missing before it";
  EXPECT_FALSE(FrameSeal(session, FrameDirection::to_client).accept("a", first))
      << "a reflected frame";
  EXPECT_FALSE(FrameSeal(random_bytes(), FrameDirection::to_server).accept("a", first));
  FrameSeal receiver(session, FrameDirection::to_server);
  EXPECT_TRUE(receiver.accept("a", first));
  EXPECT_FALSE(receiver.accept("a", first)) << "a replayed frame";
}

}  // namespace
}  // namespace bp

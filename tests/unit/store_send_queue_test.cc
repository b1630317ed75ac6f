// Tests what is queued for one client of the store, counted to the byte.
// docs/acceptance.md, Store: A client that asks for much and reads nothing takes bounded memory,
// and does not block others.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "comm/store/send_queue.h"

namespace bp {
namespace {

constexpr std::size_t kEmptyMessage = 21;
constexpr std::size_t kFrame = kFrameHeader + kFrameMac;

std::string together(const std::vector<std::string_view>& views) {
  std::string bytes;
  for (const std::string_view view : views) bytes += view;
  return bytes;
}

SharedValue shared_value(std::size_t size, char c) {
  return std::make_shared<const std::string>(size, c);
}

class SendQueueTest : public testing::Test {
 protected:
  // Takes one batch out of the queue, as the network thread does.
  std::string send() {
    std::string bytes = together(queue_.next_batch(&seal_));
    queue_.batch_sent();
    return bytes;
  }

  StoreSendQueue queue_;
  FrameSeal seal_{Bytes32{}, FrameDirection::to_client};
  FrameSeal same_seal_{Bytes32{}, FrameDirection::to_client};
};

TEST_F(SendQueueTest, BytesAreThoseOfSealedMessagesInOrder) {
  queue_.push_frame("a frame of the handshake");
  queue_.push({.op = StoreOp::done, .id = 1});
  queue_.push({.op = StoreOp::found, .id = 2}, shared_value(5, 'v'));
  queue_.push({.op = StoreOp::missing, .id = 3, .strings = {"key"}});
  std::string expected = "a frame of the handshake";
  for (const StoreMessage& message : {StoreMessage{.op = StoreOp::done, .id = 1},
                                      {.op = StoreOp::found, .id = 2, .strings = {"vvvvv"}},
                                      {.op = StoreOp::missing, .id = 3, .strings = {"key"}}}) {
    expected += same_seal_.seal(encode_message(message));
  }
  EXPECT_EQ(queue_.unsent(), expected.size());
  EXPECT_EQ(send(), expected);
  EXPECT_EQ(queue_.unsent(), 0U);
  EXPECT_EQ(queue_.held(), 0U);
  EXPECT_TRUE(queue_.empty());
}

TEST_F(SendQueueTest, CountsTheBatchUntilItIsSent) {
  const std::size_t size = 3 * StoreSendQueue::kBatch;
  queue_.push({.op = StoreOp::found, .id = 1}, shared_value(size, 'a'));
  queue_.push({.op = StoreOp::done, .id = 2});
  const std::size_t first = kFrame + kEmptyMessage + 4 + size;
  EXPECT_EQ(queue_.unsent(), first + kFrame + kEmptyMessage);
  EXPECT_EQ(together(queue_.next_batch(&seal_)).size(), first) << "a batch holds one large value";
  EXPECT_EQ(queue_.unsent(), first + kFrame + kEmptyMessage);
  queue_.batch_sent();
  EXPECT_EQ(queue_.unsent(), kFrame + kEmptyMessage);
  EXPECT_FALSE(queue_.empty());
}

TEST_F(SendQueueTest, ValueSharedByMessagesIsHeldOnceUntilTheLast) {
  constexpr std::size_t kSize = std::size_t{1} << 20;
  constexpr std::size_t kOwn = 1'000;  // more than a message without its value takes
  const SharedValue value = shared_value(kSize, 'a');
  for (std::uint64_t id = 0; id < 3; ++id) queue_.push({.op = StoreOp::found, .id = id}, value);
  EXPECT_EQ(queue_.unsent(), 3 * (kFrame + kEmptyMessage + 4 + kSize));
  EXPECT_GE(queue_.held(), kSize);
  EXPECT_LT(queue_.held(), kSize + 3 * kOwn);
  queue_.push({.op = StoreOp::found, .id = 3}, shared_value(kSize, 'b'));
  EXPECT_LT(queue_.held(), 2 * kSize + 4 * kOwn);
  for (const std::size_t values : {2, 2, 1, 0}) {
    send();
    EXPECT_GE(queue_.held(), values * kSize);
    EXPECT_LT(queue_.held(), values * kSize + 4 * kOwn);
  }
  EXPECT_EQ(value.use_count(), 1);
}

}  // namespace
}  // namespace bp

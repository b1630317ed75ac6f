// Tests which message a receive gets.
// docs/acceptance.md, Messages: Messages with the same tag do not overtake each other, and the
// first receive that fits gets the message.
#include "comm/message/matching.h"

#include <gtest/gtest.h>

namespace bp {
namespace {

struct Item {
  int number = 0;
  int from = 0;
  int with_tag = 0;
  [[nodiscard]] int source() const { return from; }
  [[nodiscard]] int tag() const { return with_tag; }
};
using Queue = Matching<Item, Item>;

// Returns the number of the receive that gets the message, or -1.
int arrive(Queue& queue, Item message) {
  const auto receive = queue.arrive(message);
  return receive ? receive->number : -1;
}
// Returns the number of the message that the receive gets, or -1.
int post(Queue& queue, const Item& receive) {
  const auto message = queue.post(receive);
  return message ? message->number : -1;
}

TEST(MatchingOrder, ReceiveGetsTheFirstMessageThatItMatches) {
  Queue queue;
  EXPECT_EQ(arrive(queue, {0, 1, 7}), -1);
  EXPECT_EQ(arrive(queue, {1, 2, 7}), -1);
  EXPECT_EQ(arrive(queue, {2, 1, 8}), -1);
  EXPECT_EQ(arrive(queue, {3, 1, 7}), -1);
  EXPECT_EQ(post(queue, {0, 1, 8}), 2);
  EXPECT_EQ(post(queue, {0, kAnySource, 7}), 0);
  EXPECT_EQ(post(queue, {0, 1, kAnyTag}), 3);
  EXPECT_EQ(post(queue, {0, kAnySource, kAnyTag}), 1);
  EXPECT_EQ(post(queue, {0, kAnySource, kAnyTag}), -1);
}

TEST(MatchingOrder, MessageGoesToTheFirstReceiveThatMatchesIt) {
  Queue queue;
  EXPECT_EQ(post(queue, {0, 2, 7}), -1);
  EXPECT_EQ(post(queue, {1, kAnySource, 7}), -1);
  EXPECT_EQ(post(queue, {2, 1, 7}), -1);
  EXPECT_EQ(arrive(queue, {0, 1, 7}), 1);
  EXPECT_EQ(arrive(queue, {1, 1, 7}), 2);
  EXPECT_EQ(arrive(queue, {2, 1, 7}), -1);
  EXPECT_EQ(arrive(queue, {3, 2, 7}), 0);
  EXPECT_EQ(queue.arrived().size(), 1U);
}

TEST(MatchingOrder, WithdrawnReceiveGetsNothing) {
  Queue queue;
  EXPECT_EQ(post(queue, {0, 1, 7}), -1);
  queue.withdraw([](const Item& receive) { return receive.number == 0; });
  EXPECT_FALSE(queue.has_receive_for({0, 1, 7}));
  EXPECT_EQ(arrive(queue, {0, 1, 7}), -1);
}

}  // namespace
}  // namespace bp

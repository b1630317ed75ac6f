#include "comm/engine/messages/eager_window.h"

#include <gtest/gtest.h>

namespace bp::test {
namespace {

OutgoingPacket packet_of(std::size_t bytes) { return {.payload = bytes}; }

TEST(EagerWindow, HasRoomForSomeMessagesWhateverTheirLength) {
  EagerWindow window;
  for (std::size_t i = 0; i < EagerWindow::kMessages; ++i) {
    EXPECT_TRUE(window.has_room(0)) << i;
    window.add_sent(packet_of(0));
  }
  EXPECT_FALSE(window.has_room(0));
  EXPECT_FALSE(window.set_received(1));
  EXPECT_TRUE(window.has_room(0));
}

TEST(EagerWindow, HasRoomForSomeBytes) {
  EagerWindow window;
  window.add_sent(packet_of(EagerWindow::kBytes - 10));
  EXPECT_TRUE(window.has_room(10));
  EXPECT_FALSE(window.has_room(11));
  window.add_sent(packet_of(10));
  EXPECT_FALSE(window.has_room(1));
  EXPECT_FALSE(window.set_received(1));
  EXPECT_TRUE(window.has_room(EagerWindow::kBytes - 10));
  EXPECT_FALSE(window.has_room(EagerWindow::kBytes - 9));
}

TEST(EagerWindow, SaysOnceThatAllMessagesAreReceived) {
  EagerWindow window;
  EXPECT_FALSE(window.set_received(0));
  window.add_sent(packet_of(1));
  window.add_sent(packet_of(2));
  EXPECT_FALSE(window.set_received(1));
  EXPECT_EQ(window.unreceived().size(), 1U);
  EXPECT_TRUE(window.set_received(2));
  EXPECT_FALSE(window.set_received(2));
  window.add_sent(packet_of(3));
  EXPECT_FALSE(window.set_received(2));  // the total counts from the beginning
  EXPECT_TRUE(window.set_received(3));
}

TEST(EagerWindow, OwesACreditAfterAQuarterOfTheMessages) {
  EagerWindow window;
  for (std::size_t i = 0; i + 1 < EagerWindow::kMessages / 4; ++i) window.add_consumed(0);
  EXPECT_FALSE(window.credit_is_due());
  window.add_consumed(0);
  EXPECT_TRUE(window.credit_is_due());
  PacketHeader header;
  window.acknowledge_in(header);
  EXPECT_EQ(header.consumed, EagerWindow::kMessages / 4);
  EXPECT_FALSE(window.credit_is_due());
}

TEST(EagerWindow, OwesACreditAfterAQuarterOfTheBytes) {
  EagerWindow window;
  window.add_consumed(EagerWindow::kBytes / 4 - 1);
  EXPECT_FALSE(window.credit_is_due());
  window.add_consumed(1);
  EXPECT_TRUE(window.credit_is_due());
  PacketHeader header;
  window.acknowledge_in(header);
  EXPECT_EQ(header.consumed, 2U);
  window.add_consumed(EagerWindow::kBytes / 4 - 1);
  EXPECT_FALSE(window.credit_is_due());
}

TEST(EagerWindow, OwesACreditForEachMessageToAPeerThatFinishes) {
  EagerWindow window;
  window.acknowledge_each();
  EXPECT_FALSE(window.credit_is_due());
  window.add_consumed(0);
  EXPECT_TRUE(window.credit_is_due());
}

}  // namespace
}  // namespace bp::test

// docs/acceptance.md, Networks: A network that loses large packets, one direction, both, or a
// connection is named.
#include "comm/transport/link_watch.h"

#include <gtest/gtest.h>

#include <optional>

namespace bp {
namespace {

using namespace std::chrono_literals;

class LinkWatchTest : public testing::Test {
 protected:
  // Looks at the link, `after` the test began.
  std::optional<DeadLink> look(std::chrono::seconds after, const LinkState& state) {
    return watch_.look(state, LinkWatch::Clock::time_point(1h) + after);
  }

 private:
  LinkWatch watch_;
};

TEST_F(LinkWatchTest, AnIdleLinkIsWell) {
  for (const auto at : {0s, 10s, 20s}) EXPECT_FALSE(look(at, {.acknowledged = 100, .arrived = 7}));
}

TEST_F(LinkWatchTest, ALinkThatMovesIsWell) {
  EXPECT_FALSE(look(0s, {.acknowledged = 100, .in_flight = 50}));
  EXPECT_FALSE(look(10s, {.acknowledged = 101, .in_flight = 50}));
  EXPECT_FALSE(look(20s, {.acknowledged = 150, .in_flight = 0}));
}

TEST_F(LinkWatchTest, BytesThatAreNeverAcknowledgedAreADeadLink) {
  EXPECT_FALSE(look(0s, {.acknowledged = 100, .arrived = 7, .in_flight = 50}));
  const auto dead = look(9s, {.acknowledged = 100, .arrived = 7, .in_flight = 60});
  ASSERT_TRUE(dead);
  EXPECT_EQ(dead->silent, 9s);
  EXPECT_EQ(dead->in_flight, 60u);
  EXPECT_FALSE(dead->hears_peer);
  EXPECT_FALSE(look(10s, {.acknowledged = 160, .arrived = 8, .in_flight = 0})) << "well again";
}

TEST_F(LinkWatchTest, APeerThatIsHeardIsAnotherCase) {
  EXPECT_FALSE(look(0s, {.acknowledged = 100, .arrived = 7, .in_flight = 50}));
  EXPECT_TRUE(look(9s, {.acknowledged = 100, .arrived = 9, .in_flight = 50})->hears_peer);
}

TEST_F(LinkWatchTest, UnansweredProbesAreADeadLinkButOneMayBeOnItsWay) {
  EXPECT_FALSE(look(0s, {.unanswered = 1}));
  EXPECT_FALSE(look(1s, {.unanswered = 1}));
  EXPECT_TRUE(look(3s, {.unanswered = 2}));
  EXPECT_FALSE(look(4s, {.unanswered = 0}));
}

}  // namespace
}  // namespace bp

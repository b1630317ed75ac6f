#include "trainer/train/loop/shard_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "tests/support/run_ranks.h"
#include "trainer/train/loop/host_shares.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(ShardShares, AreReadByHost) {
  EXPECT_THAT(parse_host_shares("--shard-shares", "a:3,b:1"),
              ElementsAre(Pair("a", 3), Pair("b", 1)));
  EXPECT_THAT(parse_host_shares("--shard-shares", "::1:0.5"), ElementsAre(Pair("::1", 0.5)));
  for (const char* text : {"", "a", "a:", "a:x", "a:-1", "a:nan", "a:1,a:2"}) {
    EXPECT_THROW(static_cast<void>(parse_host_shares("--shard-shares", text)), InputError) << text;
  }
}

TEST(ShardShares, FollowTheMemoryBesideWhatIsWhole) {
  const TrainingState state{.dense = 10, .rows = 2, .moments = 2};
  EXPECT_EQ(room_for_shards(100, state, 4, Shard::optimizer), 100 - 12 - 40 - 4);
  EXPECT_EQ(room_for_shards(100, state, 4, Shard::gradients), 100 - 12 - 4);
  EXPECT_EQ(room_for_shards(3, state, 1, Shard::optimizer), 0);
}

std::string error_of(Communicator& world, const std::string& asked) {
  try {
    static_cast<void>(shard_shares(world, asked, Shard::optimizer, {}));
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(ShardShares, OfAHostAreDividedAmongItsRanks) {
  bp::test::run_ranks(
      3,
      [](Communicator& world) {
        EXPECT_THAT(shard_shares(world, "equal", Shard::optimizer, {}), ElementsAre());
        EXPECT_THAT(shard_shares(world, "host 0:3,host 1:0", Shard::optimizer, {}),
                    ElementsAre(1.5, 1.5, 0));
        const std::vector<double> by_memory = shard_shares(world, "auto", Shard::gradients, {});
        ASSERT_EQ(by_memory.size(), 3);
        EXPECT_GT(by_memory[0], 0);
        EXPECT_EQ(by_memory[0], by_memory[1]);
        for (const char* asked : {"host 0:3", "host 0:3,host 1:1,c:2", "host 0:3,c:2"}) {
          EXPECT_THAT(error_of(world, asked), HasSubstr("does not name the hosts of this job"));
        }
      },
      {.local_sizes = {2, 1}});
}

}  // namespace
}  // namespace bp::trainer

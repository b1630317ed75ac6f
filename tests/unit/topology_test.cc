#include "bp/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"
#include "tests/support/refusal.h"

namespace bp {
namespace {

using test::refusal_of;
using ::testing::ElementsAre;

const Topology kUneven{.rank = 3, .local_sizes = {3, 1, 2}, .host_names = {"ada", "bert", "cleo"}};

TEST(Topology, NumbersRanksHostByHost) {
  EXPECT_EQ(kUneven.size(), 6);
  EXPECT_EQ(kUneven.hosts(), 3);
  const int hosts[] = {0, 0, 0, 1, 2, 2};
  const int local_ranks[] = {0, 1, 2, 0, 0, 1};
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(kUneven.place_of(rank).host, hosts[rank]);
    EXPECT_EQ(kUneven.place_of(rank).local_rank, local_ranks[rank]);
  }
  EXPECT_EQ(kUneven.leader_of(0), 0);
  EXPECT_EQ(kUneven.leader_of(1), 3);
  EXPECT_EQ(kUneven.leader_of(2), 4);
}

TEST(Topology, KnowsTheHostAndLocalRank) {
  EXPECT_EQ(kUneven.host(), 1);
  EXPECT_EQ(kUneven.local_rank(), 0);
  EXPECT_EQ(kUneven.local_size(), 1);
  EXPECT_TRUE(kUneven.same_host(0, 2));
  EXPECT_FALSE(kUneven.same_host(2, 3));
}

TEST(Topology, NamesHosts) {
  EXPECT_EQ(kUneven.host_name(2), "cleo");
  EXPECT_EQ(Topology{}.host_name(0), "host 0");
}

TEST(Topology, RefusesRanksAndHostsOutOfRange) {
  EXPECT_EQ(refusal_of([] { return kUneven.place_of(6); }),
            "rank 6 is not one of the 6 ranks 0 to 5");
  EXPECT_EQ(refusal_of([] { return kUneven.place_of(-1); }),
            "rank -1 is not one of the 6 ranks 0 to 5");
  EXPECT_EQ(refusal_of([] { return kUneven.leader_of(3); }),
            "host 3 is not one of the 3 hosts 0 to 2");
}

TEST(LocalSizes, AreParsed) {
  EXPECT_THAT(parse_local_sizes("3,1"), ElementsAre(3, 1));
  EXPECT_THAT(parse_local_sizes("8"), ElementsAre(8));
}

TEST(LocalSizes, NameTheBadField) {
  const auto refusal = [](const char* text) {
    return refusal_of([&] { return parse_local_sizes(text); });
  };
  EXPECT_EQ(refusal("3,x"),
            "local sizes \"3,x\": \"x\", the size of host 1, is not a whole number of at least 1 "
            "(expected something like 3,1)");
  for (const char* text : {"", ",", "3,", "0", "-1", "1 ", "+1", "1.5", "99999999999"}) {
    EXPECT_NE(refusal(text).find("is not a whole number"), std::string::npos) << text;
  }
  EXPECT_EQ(refusal("2147483647,1"), "local sizes \"2147483647,1\": their sum does not fit an int");
}

}  // namespace
}  // namespace bp

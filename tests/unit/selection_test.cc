// Which algorithm is chosen, and where the cost model puts the crossings.
#include "comm/backend/selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bp/error.h"
#include "comm/backend/cost_model.h"

namespace bp {
namespace {

using testing::HasSubstr;

// The smallest number of kilobytes from which on `longer` takes no more time than `shorter`.
std::size_t crossing_kb(Algorithm shorter, Algorithm longer, int ranks, const Link& link) {
  const auto cost = [&](Algorithm algorithm, std::size_t kb) {
    return all_reduce_ps(algorithm, ranks, kb * 1000, link);
  };
  std::size_t kb = 1;
  while (kb < 100'000 && cost(longer, kb) > cost(shorter, kb)) ++kb;
  return kb;
}

// docs/collectives.md has them.
TEST(CostModel, RingBeatsRecursiveDoublingFromWhereTheDocumentationSays) {
  const auto ring_from = [](int ranks, const Link& link) {
    return crossing_kb(Algorithm::recursive_doubling, Algorithm::ring, ranks, link);
  };
  EXPECT_EQ(ring_from(4, kTenGigabit), 164U);
  EXPECT_EQ(ring_from(8, kTenGigabit), 197U);
  EXPECT_EQ(ring_from(16, kTenGigabit), 281U);
  EXPECT_EQ(ring_from(4, kLoopback), 467U);
  EXPECT_EQ(ring_from(8, kLoopback), 588U);
}

TEST(CostModel, TheDoubleTreePaysOnlyForManyRanks) {
  for (const std::size_t bytes : {1U << 10, 1U << 16, 1U << 20, 1U << 26}) {
    EXPECT_GT(all_reduce_ps(Algorithm::double_tree, 8, bytes, kTenGigabit),
              all_reduce_ps(Algorithm::ring, 8, bytes, kTenGigabit));
  }
  EXPECT_LT(all_reduce_ps(Algorithm::double_tree, 64, 1 << 20, kTenGigabit),
            all_reduce_ps(Algorithm::ring, 64, 1 << 20, kTenGigabit));
}

// Terabytes and a thousand ranks stay whole numbers.
TEST(CostModel, DoesNotOverflow) {
  for (const auto algorithm : {Algorithm::ring, Algorithm::recursive_doubling,
                               Algorithm::halving_doubling, Algorithm::tree}) {
    EXPECT_GT(all_reduce_ps(algorithm, 1023, std::size_t{1} << 40, kTenGigabit), 0);
  }
}

TEST(Selection, ShortByDoublingLongByTheRing) {
  for (const int ranks : {2, 3, 4, 5, 7, 8, 16, 64}) {
    for (const int hosts : {1, ranks}) {
      const Selection selection({.ranks = ranks, .hosts = hosts});
      EXPECT_EQ(selection.all_reduce(0), Algorithm::recursive_doubling) << ranks;
      EXPECT_EQ(selection.all_reduce(4), Algorithm::recursive_doubling) << ranks;
      EXPECT_EQ(selection.all_reduce(std::size_t{1} << 33), Algorithm::ring) << ranks;
    }
  }
  const Selection eight({.ranks = 8, .hosts = 8});
  EXPECT_EQ(eight.all_reduce(256 << 10), Algorithm::halving_doubling);
}

TEST(Selection, WhereHostsShareMemoryOnlyLeadersSend) {
  const Selection selection({.ranks = 4, .hosts = 2, .shared = true});
  EXPECT_EQ(selection.all_reduce(4), Algorithm::hierarchical);
  EXPECT_EQ(selection.all_reduce(64 << 20), Algorithm::hierarchical);
}

std::string refusal(std::string_view name, std::vector<int> local_sizes) {
  try {
    (void)parse_algorithm(name, local_sizes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(Algorithms, UnknownAndImpossibleNamesAreRefusedNamingThePossible) {
  EXPECT_EQ(refusal("rign", {3}),
            "there is no algorithm 'rign'; possible here: auto, ring, recursive_doubling, "
            "halving_doubling, tree, double_tree");
  EXPECT_EQ(
      refusal("hierarchical", {3}),
      "the algorithm 'hierarchical' needs several hosts, one of them with several ranks; this "
      "job has 1 host (3 ranks); possible here: auto, ring, recursive_doubling, "
      "halving_doubling, tree, double_tree");
  EXPECT_THAT(refusal("hierarchical", {1, 1}), HasSubstr("this job has 2 hosts (1+1 ranks)"));
  EXPECT_THAT(refusal("x", {3, 1}), HasSubstr("double_tree, hierarchical"));
  EXPECT_EQ(parse_algorithm("hierarchical", std::vector{3, 1}), Algorithm::hierarchical);
  EXPECT_EQ(parse_algorithm("auto", std::vector{1}), Algorithm::automatic);
}

}  // namespace
}  // namespace bp

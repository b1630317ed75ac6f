// What --shard costs and saves on a host.
#include "trainer/report/shard_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr std::array kStages = {Shard::none, Shard::host, Shard::optimizer, Shard::gradients};

ShardCost cost_of(TrainingState state, const std::vector<ShardHost>& hosts, Shard shard) {
  state.hosts = hosts;
  return shard_cost(state, 0, shard);
}

std::vector<ShardCost> costs_of(TrainingState state, const std::vector<ShardHost>& hosts) {
  state.hosts = hosts;
  return shard_costs(state);
}

// Returns the peak and what lasts from step to step on the first host, in the order of kStages.
std::vector<std::pair<std::uint64_t, std::uint64_t>> memory_of(
    const TrainingState& state, const std::vector<ShardHost>& hosts) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> memory;
  for (const Shard shard : kStages) {
    const ShardCost cost = cost_of(state, hosts, shard);
    EXPECT_EQ(cost.shard, shard);
    EXPECT_EQ(cost.ranks, hosts[0].ranks);
    memory.emplace_back(cost.peak, cost.weights + cost.gradients + cost.moments);
  }
  return memory;
}

std::vector<std::uint64_t> sent_by_first_host(const TrainingState& state,
                                              const std::vector<ShardHost>& hosts) {
  std::vector<std::uint64_t> sent;
  for (const Shard shard : kStages) sent.push_back(cost_of(state, hosts, shard).sent);
  return sent;
}

// docs/acceptance.md, Optimizer: The cost of each kind of sharding is that of the table in
// docs/optimizer.md.
TEST(ShardCosts, AreThoseOfTheTableOfTheOptimizer) {
  // 1,000 parameters in fp32 with AdamW. 16 L; 12 + 4 L; 4 + 8 L / P + 4 L; 4 + 8 L / P and 4 L /
  // P.
  const TrainingState state{.dense = 4000, .moments = 2};
  EXPECT_THAT(memory_of(state, {{.ranks = 4, .share = 1}}),
              ElementsAre(Pair(64'000, 64'000), Pair(28'000, 28'000), Pair(28'000, 28'000),
                          Pair(16'000, 12'000)));
  EXPECT_THAT(memory_of(state, {{.ranks = 3, .share = 0.75}, {.ranks = 1, .share = 0.25}}),
              ElementsAre(Pair(48'000, 48'000), Pair(24'000, 24'000), Pair(22'000, 22'000),
                          Pair(13'000, 10'000)));
}

// Both ways of a window of several micro-batches.
TEST(ShardCosts, OfEachMicroBatchAreThoseOfOneAndSentAsOften) {
  TrainingState state{.dense = 4000, .moments = 2, .micro_batches = 3};
  state.hosts = {{.ranks = 2, .share = 0.5}, {.ranks = 2, .share = 0.5}};
  std::vector<std::vector<std::uint64_t>> found;
  for (const ShardCost& cost : shard_costs(state)) {
    if (cost.shard != Shard::gradients) continue;
    found.push_back({cost.reduce_each ? 1U : 0U, cost.peak, cost.sent});
  }
  EXPECT_THAT(found, ElementsAre(ElementsAre(0, 4000 + 4000 + 8000, 2000 + 2000),
                                 ElementsAre(1, 4000 + 4000 + 2000, 3 * 2000 + 2000)));
  EXPECT_THAT(shard_table(shard_costs(state)), HasSubstr("gradients --reduce-each"));
}

TEST(ShardCosts, OfFrozenParametersAreOneCopyForAHost) {
  const TrainingState state{.frozen = 10'000, .dense = 40, .moments = 2};
  EXPECT_THAT(memory_of(state, {{.ranks = 2, .share = 1}}),
              ElementsAre(Pair(20'320, 20'320), Pair(10'200, 10'200), Pair(10'200, 10'200),
                          Pair(10'160, 10'120)));
}

TEST(ShardCosts, OfSparseGradientsAreDividedInsideAHostOnly) {
  const std::vector<ShardHost> hosts = {{.ranks = 2, .share = 0.5}, {.ranks = 2, .share = 0.5}};
  EXPECT_THAT(memory_of({.rows = 100, .moments = 2}, hosts),
              ElementsAre(Pair(600, 600), Pair(300, 300), Pair(300, 300), Pair(300, 300)));
  EXPECT_THAT(memory_of({.undivided = 100, .moments = 2}, hosts),
              ElementsAre(Pair(600, 600), Pair(600, 600), Pair(600, 600), Pair(600, 600)));
}

TEST(ShardCosts, CountAveragesTheWireAndSumsOfSeveralMicroBatches) {
  const std::vector<ShardHost> hosts = {{.ranks = 2, .share = 1}};
  EXPECT_EQ(cost_of({.dense = 100, .averages = true}, hosts, Shard::host).weights, 300U);
  const TrainingState narrow{.dense = 100, .wire = 2, .error_feedback = true};
  EXPECT_EQ(cost_of(narrow, hosts, Shard::optimizer).gradients, 500U);
  // Gradients, residuals and new errors, but nothing travels on one host.
  const TrainingState int8{.dense = 100, .wire = 1, .error_feedback = true};
  EXPECT_EQ(cost_of(int8, hosts, Shard::optimizer).gradients, 200U);
  const std::vector<ShardHost> two = {{.ranks = 2, .share = 0.5}, {.ranks = 1, .share = 0.5}};
  EXPECT_EQ(cost_of(int8, two, Shard::optimizer).gradients, 600U);
  const TrainingState several{.dense = 100, .micro_batches = 3};
  EXPECT_EQ(cost_of(several, hosts, Shard::gradients).peak, 300U);
  EXPECT_EQ(cost_of(several, hosts, Shard::gradients).gradients, 0U);
}

TEST(ShardCosts, OnSeveralHostsAreTheBytesOfARing) {
  const std::vector<ShardHost> even = {{.ranks = 2, .share = 0.5}, {.ranks = 2, .share = 0.5}};
  EXPECT_THAT(sent_by_first_host({.frozen = 9, .dense = 1000, .rows = 5}, even),
              ElementsAre(1000, 1000, 1000, 1000));
  // The parameters travel as they are, whatever the wire of the gradients is.
  EXPECT_THAT(sent_by_first_host({.dense = 1000, .wire = 2}, even),
              ElementsAre(500, 500, 750, 750));
  // As int8, 33 bytes for 128, and all sums to each host.
  EXPECT_THAT(sent_by_first_host({.dense = 12'800, .wire = 1}, even),
              ElementsAre(3300, 3300, 3300 + 6400, 3300 + 6400));
  // The sums that others own, and all parameters but those of the next host.
  EXPECT_THAT(sent_by_first_host({.dense = 1000}, {{.ranks = 3, .share = 0.6},
                                                   {.ranks = 1, .share = 0.3},
                                                   {.ranks = 1, .share = 0.1}}),
              ElementsAre(1333, 1333, 400 + 700, 400 + 700));
  EXPECT_THAT(sent_by_first_host({.dense = 1000}, {{.ranks = 4, .share = 1}}),
              ElementsAre(0, 0, 0, 0));
}

TEST(ShardCosts, OfDividedLayersAreThoseThatPassesBringAndKeep) {
  // 10 layers of 100 bytes, and 200 bytes beside them.
  const TrainingState state{.dense = 1200, .moments = 2, .in_layers = 1000, .layers = 10};
  const ShardCost cost = cost_of(state, {{.share = 0.25}, {.share = 0.75}}, Shard::parameters);
  EXPECT_EQ(cost.weights, 200 + 250U);
  EXPECT_EQ(cost.moments, 2 * 300U);
  EXPECT_EQ(cost.peak, cost.weights + cost.moments + 300 + 3 * 75U);
  // Ten layers forward and nine backward.
  EXPECT_EQ(cost.sent, 900 + 300 + 225U);
  TrainingState twice = state;
  twice.micro_batches = 2;
  EXPECT_EQ(cost_of(twice, {{.share = 0.25}, {.share = 0.75}}, Shard::parameters).sent,
            900 + 300 + 3 * 225U);
  // All ranks of one host share them.
  EXPECT_EQ(cost_of(state, {{.ranks = 4, .share = 1}}, Shard::parameters).weights, 1200U);
}

TEST(ShardCosts, AreThoseOfTheHostThatNeedsMost) {
  const TrainingState state{.dense = 1000, .moments = 2};
  const std::vector<ShardCost> costs =
      costs_of(state, {{.ranks = 1, .share = 0.9}, {.ranks = 2, .share = 0.1}});
  EXPECT_THAT(costs, ElementsAre(Field(&ShardCost::ranks, 2), Field(&ShardCost::ranks, 2),
                                 Field(&ShardCost::ranks, 1), Field(&ShardCost::ranks, 1),
                                 Field(&ShardCost::ranks, 1)));
  EXPECT_EQ(costs[2].peak, 1000 + 1800 + 1000U);
}

TEST(ShardCosts, FollowTheSharesOfRanks) {
  Topology topology;
  topology.local_sizes = {3, 1};
  const auto shares = [&](const std::vector<double>& of_ranks) {
    std::vector<std::pair<int, double>> hosts;
    for (const ShardHost& host : shard_hosts(topology, of_ranks)) {
      hosts.emplace_back(host.ranks, host.share);
    }
    return hosts;
  };
  EXPECT_THAT(shares({}), ElementsAre(Pair(3, 0.75), Pair(1, 0.25)));
  EXPECT_THAT(shares({1, 1, 1, 9}), ElementsAre(Pair(3, 0.25), Pair(1, 0.75)));
}

TEST(ShardTable, ComparesWithNoneAndHasWhatIsSentBetweenHosts) {
  const TrainingState state{.dense = 4U << 20, .moments = 2};
  const std::vector<ShardHost> one = {{.ranks = 4, .share = 1}};
  EXPECT_EQ(shard_table(costs_of(state, one)),
            "--shard     weights  gradients  moments  peak  sent  peak of none\n"
            "none           16.0       16.0     32.0  64.0   0.0          1.00\n"
            "host            4.0       16.0      8.0  28.0   0.0          0.44\n"
            "optimizer       4.0       16.0      8.0  28.0   0.0          0.44\n"
            "gradients       4.0        0.0      8.0  16.0   0.0          0.25\n"
            "parameters      4.0        0.0      8.0  16.0   0.0          0.25\n");
  const std::vector<ShardHost> two = {{.ranks = 2, .share = 0.5}, {.ranks = 2, .share = 0.5}};
  EXPECT_THAT(shard_table(costs_of(state, two)),
              HasSubstr("\nnone            8.0        8.0     16.0  32.0   4.0          1.00\n"));
}

TEST(ShardCosts, OfARankAreItsPartsAndWhatItsHostShares) {
  const TrainingState state{.dense = 1200,
                            .moments = 2,
                            .in_layers = 1000,
                            .layers = 10,
                            .hosts = {{.ranks = 2, .share = 0.25}, {.ranks = 1, .share = 0.75}}};
  const auto of = [&](Shard shard) {
    const RankMemory memory = memory_of_rank(state, shard);
    return std::vector{memory.weights, memory.gradients, memory.moments};
  };
  EXPECT_THAT(of(Shard::none), ElementsAre(1200, 1200, 2400));
  EXPECT_THAT(of(Shard::host), ElementsAre(1200, 1200, 2400));
  EXPECT_THAT(of(Shard::optimizer), ElementsAre(1200, 1200, 1800));
  EXPECT_THAT(of(Shard::gradients), ElementsAre(1200, 900, 1800));
  // The layers that the other host owns are there while they are in use.
  EXPECT_THAT(of(Shard::parameters), ElementsAre(950 + 75, 900, 1800));
}

}  // namespace
}  // namespace bp::trainer

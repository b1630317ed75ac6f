// Ranks as processes: which connections a job makes, and what a rank learns of others to which it
// has none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bp/collective.h"
#include "bp/communicator.h"
#include "comm/engine/api/impl.h"
#include "tests/support/run_processes.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::ContainsRegex;
using testing::HasSubstr;

// Far below the deadline of 5 minutes that would otherwise end the wait.
constexpr auto kFoundWithin = 15s;

int connections_of(Communicator& world) {
  return world.impl().engine().setup().job->transport().connections();
}

void run_all_collectives(Communicator& world) {
  const auto ranks = static_cast<std::size_t>(world.size());
  std::vector<std::int32_t> part(1, 1);
  std::vector<std::int32_t> all(ranks, 1);
  all_reduce(world, view(all));
  EXPECT_EQ(all.back(), world.size());
  broadcast(world, view(all));
  reduce(world, view(all));
  reduce_scatter(world, const_view(all), view(part));
  all_gather(world, const_view(part), view(all));
  gather(world, const_view(part), view(all));
  scatter(world, const_view(all), view(part));
  barrier(world);
}

// Each digit of EXPECTED is the number of connections that a rank has after all collectives with
// root 0, and after an all_reduce that takes several rails.
RANK_BODY(counted) {
  Communicator world = Communicator::create();
  const std::string expected = std::getenv("EXPECTED");
  run_all_collectives(world);
  std::vector<float> gradient(100'000, 1);
  all_reduce(world, view(gradient));
  EXPECT_EQ(gradient.back(), static_cast<float>(world.size()));
  EXPECT_EQ(connections_of(world), expected[static_cast<std::size_t>(world.rank())] - '0')
      << "rank " << world.rank();
  world.finish();
  return 0;
}

// docs/acceptance.md, Networks: Ranks that share memory make no connection.
TEST(Connections, RanksOfOneHostMakeNone) {
  run_processes("counted", {.ranks = 4, .environment = {"EXPECTED=0000"}});
}

// docs/acceptance.md, Networks: Between hosts only the ranks connect that exchange messages.
TEST(Connections, OnlyTheLeadersOfHostsConnect) {
  run_processes("counted", {.ranks = 4, .local_sizes = {3, 1}, .environment = {"EXPECTED=1001"}});
  run_processes("counted", {.ranks = 5, .local_sizes = {3, 2}, .environment = {"EXPECTED=11011"}});
}

RANK_BODY(ring) {
  Communicator world = Communicator::create();
  std::vector<float> data(1000, 1);
  for (int i = 0; i < 3; ++i) all_reduce(world, view(data));
  EXPECT_EQ(connections_of(world), 2);
  world.finish();
  return 0;
}

TEST(Connections, ARingTakesTwoOfEachRank) {
  run_processes("ring", {.ranks = 6, .environment = {"BP_BACKEND=gloo", "BP_ALGORITHM=ring"}});
}

// A message connects its two ranks, of which the higher one connects: here it sends first, and then
// receives first.
RANK_BODY(message) {
  Communicator world = Communicator::create();
  const std::vector<std::int32_t> sent{7, 8};
  std::vector<std::int32_t> received(2);
  for (const auto& [from, to] : {std::pair{2, 0}, std::pair{1, 2}}) {
    if (world.rank() == from) send(world, const_view(sent), to);
    if (world.rank() == to) (void)receive(world, view(received), from);
    if (world.rank() == to) {
      EXPECT_EQ(received, sent);
    }
  }
  barrier(world);
  EXPECT_EQ(connections_of(world),
            std::vector({1, 1, 2, 0})[static_cast<std::size_t>(world.rank())]);
  world.finish();
  return 0;
}

TEST(Connections, AMessageConnectsItsTwoRanks) { run_processes("message", {.ranks = 4}); }

// Rank 2 dies before it has any connection, or with connections to ranks 1 and 3 only.
RANK_BODY(dies_unconnected) {
  Communicator world = Communicator::create();
  std::vector<float> data(1000);
  const int rounds = std::atoi(std::getenv("ROUNDS"));
  for (int round = 0;; ++round) {
    if (world.rank() == 2 && round == rounds) std::raise(SIGKILL);
    all_reduce(world, view(data), {.name = "loss"});
  }
}

// docs/acceptance.md, Failures: A dead rank is found by ranks that have no connection to it.
TEST(Connections, ADeadRankIsFoundWithoutAConnectionToIt) {
  for (const char* rounds : {"ROUNDS=0", "ROUNDS=2"}) {
    const auto results = try_processes(
        "dies_unconnected",
        {.ranks = 5, .environment = {"BP_BACKEND=gloo", "BP_ALGORITHM=ring", rounds}});
    for (const std::size_t rank : {0, 1, 3, 4}) {
      EXPECT_EQ(results[rank].exit_code, 1) << results[rank].output;
      EXPECT_THAT(results[rank].error(), ContainsRegex("^(peer_lost|io): rank"));
      EXPECT_THAT(results[rank].error(), HasSubstr("rank 2"));
      EXPECT_LT(results[rank].ended_after, kFoundWithin);
    }
  }
}

}  // namespace
}  // namespace bp::test

// Ranks as processes over Gloo, connected by the real store. Only processes can really die.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <iterator>

#include "bp/collective.h"
#include "bp/error.h"
#include "bp/store.h"
#include "tests/ranks/collectives.h"
#include "tests/ranks/exact.h"
#include "tests/ranks/operations.h"
#include "tests/support/run_processes.h"

namespace bp::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Far below any deadline. On an idle machine users see 0.1 to 1.5 seconds, but the machine that
// runs the tests may be busy.
constexpr auto kSoon = 15s;

RANK_BODY(collectives) {
  Communicator world = Communicator::create();
  EXPECT_EQ(world.backend(), std::getenv("EXPECTED_BACKEND"));
  EXPECT_EQ(check_main_collectives(world, 4096), "");
  EXPECT_EQ(check_bitwise_equality(world, 300'007), "");  // in several segments
  EXPECT_EQ(check_main_operations(world, 4096), "");
  EXPECT_EQ(check_many_async(world), "");
  EXPECT_EQ(check_split(world), "");
  world.finish();
  return 0;
}

TEST(Processes, EveryCollectiveIsExactAndGroupsWork) {
  run_processes("collectives",
                {.ranks = 3, .local_sizes = {2, 1}, .environment = {"EXPECTED_BACKEND=gloo+shm"}});
  run_processes("collectives", {.ranks = 3,
                                .local_sizes = {2, 1},
                                .environment = {"EXPECTED_BACKEND=gloo", "BP_BACKEND=gloo"}});
}

RANK_BODY(large) {
  Communicator world = Communicator::create();
  for (const std::size_t bytes : {std::size_t{1} << 20, (std::size_t{5} << 20) + 12}) {
    std::vector<std::int32_t> data(bytes / 4);
    for (std::size_t j = 0; j < data.size(); ++j) {
      data[j] = static_cast<std::int32_t>(j) * (world.rank() + 1);
    }
    all_reduce(world, view(data));
    std::size_t wrong = 0;
    const int factor = world.size() * (world.size() + 1) / 2;
    for (std::size_t j = 0; j < data.size(); ++j) {
      if (data[j] != static_cast<std::int32_t>(j) * factor) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
  }
  world.finish();
  return 0;
}

TEST(Processes, LargeVectors) { run_processes("large", {.ranks = 4}); }
TEST(Processes, LargeVectorsByGlooNative) {
  run_processes("large", {.ranks = 2, .environment = {"BP_BACKEND=gloo-native"}});
}

RANK_BODY(native) {
  Communicator world = Communicator::create();
  EXPECT_EQ(world.backend(), std::getenv("BP_BACKEND"));
  const auto input = [](int rank, std::size_t count) {
    return input_of<float>(rank, count, ReduceOp::sum);
  };
  for (const std::size_t count : {0, 1, 2, 3, 1000}) {
    auto data = input(world.rank(), count);
    all_reduce(world, view(data), {.op = ReduceOp::average});
    EXPECT_EQ(differences(data, reduction<float>(0, count, ReduceOp::average, 3)), "");
    data = input(world.rank(), count);
    broadcast(world, view(data), {.root = 2});
    EXPECT_EQ(differences(data, input(2, count)), "");
    std::vector<float> all(count * 3);
    all_gather(world, const_view(input(world.rank(), count)), view(all));
    std::vector<float> wanted;
    for (int rank = 0; rank < 3; ++rank) {
      std::ranges::copy(input(rank, count), std::back_inserter(wanted));
    }
    EXPECT_EQ(differences(all, wanted), "");
    if (count == 1) continue;  // Gloo's reduce_scatter needs more than one element
    const Block own = block_of(count * 3, 3, world.rank());
    std::vector<float> part(own.count);
    reduce_scatter(world, const_view(input(world.rank(), count * 3)), view(part));
    EXPECT_EQ(differences(part, reduction<float>(own.offset, own.count, ReduceOp::sum, 3)), "");
  }
  barrier(world);
  world.finish();
  return 0;
}

TEST(Processes, CollectivesOfGlooNative) {
  for (const char* backend : {"BP_BACKEND=gloo-native", "BP_BACKEND=gloo-native-batch"}) {
    run_processes("native", {.ranks = 3, .environment = {backend}});
  }
}

// All ranks reduce until the victim of the test is killed.
RANK_BODY(for_ever) {
  Communicator world = Communicator::create();
  std::vector<float> data(1'000'000);
  for (int step = 0;; ++step) {
    all_reduce(world, view(data), {.name = "gradients"});
    if (step == 3) std::cout << "ready" << std::endl;
  }
}

void expect_survivors_name_the_dead(const std::vector<int>& local_sizes) {
  for (const int victim : {0, 2}) {
    const auto results =
        try_processes("for_ever", {.ranks = 4, .local_sizes = local_sizes, .victim = victim});
    for (int rank = 0; rank < 4; ++rank) {
      const ProcessResult& result = results[static_cast<std::size_t>(rank)];
      if (rank == victim) {
        EXPECT_EQ(result.signal, SIGKILL);
        continue;
      }
      EXPECT_EQ(result.exit_code, 1) << "signal " << result.signal << "\n" << result.output;
      EXPECT_THAT(result.output, AllOf(HasSubstr("peer_lost: rank " + std::to_string(rank) + " "),
                                       HasSubstr("all_reduce sum of 1000000 f32 'gradients'"),
                                       HasSubstr("rank " + std::to_string(victim))));
      EXPECT_LT(result.ended_after, kSoon);
    }
  }
}

// docs/acceptance.md, Failures: The survivors of an all_reduce soon name a rank that died.
TEST(Processes, SurvivorsSoonNameTheDeadRank) { expect_survivors_name_the_dead({4}); }
// Rank 0 leads its host, and rank 2 has connections only within its host.
// docs/acceptance.md, Failures: The survivors on several hosts soon name a rank that died.
TEST(Processes, SurvivorsOnSeveralHostsSoonNameTheDeadRank) {
  expect_survivors_name_the_dead({3, 1});
}

void expect_survivors_of_gloos_own(const std::string& body) {
  const auto results =
      try_processes(body, {.ranks = 4, .environment = {"BP_BACKEND=gloo-native"}, .victim = 1});
  for (const std::size_t rank : {0, 2, 3}) {
    EXPECT_EQ(results[rank].exit_code, 1) << "signal " << results[rank].signal << "\n"
                                          << results[rank].output;
    EXPECT_THAT(results[rank].output, AllOf(HasSubstr("peer_lost: "), HasSubstr("rank 1")));
    EXPECT_LT(results[rank].ended_after, kSoon);
  }
}

TEST(Processes, SurvivorsOfGlooNativeToo) { expect_survivors_of_gloos_own("for_ever"); }

// The victim dies within a message, which is larger than any socket's buffer.
RANK_BODY(broadcast_for_ever) {
  Communicator world = Communicator::create();
  std::vector<float> data(std::size_t{16} << 20);
  for (int step = 0;; ++step) {
    broadcast(world, view(data));
    if (step == 1) std::cout << "ready" << std::endl;
  }
}

// Gloo itself does not wake operations that have sent or received a part of their data.
TEST(Processes, SurvivorsWithinAMessageOfGlooNativeToo) {
  expect_survivors_of_gloos_own("broadcast_for_ever");
}

// Runs one operation, which BP_TEST_OPERATION names, until the victim is killed.
RANK_BODY(one_for_ever) {
  Communicator world = Communicator::create();
  const std::string operation = std::getenv("BP_TEST_OPERATION");
  const auto ranks = static_cast<std::size_t>(world.size());
  const std::vector<std::size_t> counts(ranks, 100'000);
  std::vector<float> one(100'000);
  std::vector<float> all(100'000 * ranks);
  std::vector<float> swapped(all.size());
  for (int step = 0;; ++step) {
    if (operation == "reduce") reduce(world, view(one));
    if (operation == "gather") gather(world, const_view(one), view(all));
    if (operation == "scatter") scatter(world, const_view(all), view(one));
    if (operation == "all_to_all") all_to_all(world, const_view(all), view(swapped));
    if (operation == "all_to_all_v") {
      all_to_all_v(world, const_view(all), view(swapped), {.send = counts, .receive = counts});
    }
    if (operation == "message") {  // the victim sends it, and rank 0 waits for it
      if (world.rank() == 0) receive(world, view(one), 2);
      if (world.rank() == 2) send(world, const_view(one), 0);
      if (world.rank() == 1) barrier(world);
    }
    if (step == 3 || (operation == "message" && world.rank() == 1)) {
      std::cout << "ready" << std::endl;
    }
  }
}

// docs/acceptance.md, Failures: The survivors of every operation name a rank that died.
TEST(Processes, SurvivorsOfEachOperationNameTheDeadRank) {
  for (const char* backend : {"gloo", "auto"}) {
    for (const char* operation :
         {"reduce", "gather", "scatter", "all_to_all", "all_to_all_v", "message"}) {
      SCOPED_TRACE(std::string(operation) + " by " + backend);
      const auto results = try_processes(
          "one_for_ever", {.ranks = 3,
                           .environment = {std::string("BP_TEST_OPERATION=") + operation,
                                           std::string("BP_BACKEND=") + backend},
                           .victim = 2});
      EXPECT_EQ(results[2].signal, SIGKILL);
      for (const std::size_t rank : {0, 1}) {
        EXPECT_EQ(results[rank].exit_code, 1) << "signal " << results[rank].signal;
        EXPECT_THAT(results[rank].output, AllOf(HasSubstr("peer_lost: "), HasSubstr("rank 2")));
        EXPECT_LT(results[rank].ended_after, kSoon);
      }
    }
  }
}

RANK_BODY(for_two_seconds) {
  CommunicatorOptions options;
  options.timeout = 2s;
  Communicator world = Communicator::create(options);
  std::vector<float> data(100'000);
  for (int step = 0;; ++step) {
    all_reduce(world, view(data), {.name = "loss"});
    if (step == 3) std::cout << "ready" << std::endl;
  }
}

// The stopped process no longer answers, but its connections stay open.
// docs/acceptance.md, Failures: A rank that is stopped is named at the deadline. bprun names it
// after 10 s.
TEST(Processes, SilentRankIsNamedAtTheDeadline) {
  const auto results =
      try_processes("for_two_seconds", {.ranks = 3, .victim = 1, .victim_signal = SIGSTOP});
  for (const std::size_t rank : {0, 2}) {
    EXPECT_EQ(results[rank].exit_code, 1) << "signal " << results[rank].signal << "\n"
                                          << results[rank].output;
    EXPECT_THAT(results[rank].output, AllOf(HasSubstr("timeout: "), HasSubstr("'loss'"),
                                            HasSubstr(" waited 2000 ms for rank 1 ")));
    EXPECT_GT(results[rank].ended_after, 1s);
    EXPECT_LT(results[rank].ended_after, kSoon);
  }
}

RANK_BODY(disagree) {
  Communicator world = Communicator::create();
  std::vector<float> data(world.rank() == 2 ? 900 : 1000);
  all_reduce(world, view(data), {.name = "x"});
  return 0;
}

TEST(Processes, MismatchReachesAllRanksAndKillsNone) {
  const auto results = try_processes("disagree", {.ranks = 3});
  for (const ProcessResult& result : results) {
    EXPECT_EQ(result.exit_code, 1) << "signal " << result.signal << "\n" << result.output;
    EXPECT_EQ(result.error(),
              "mismatch: ranks disagree on collective 0 of world: ranks 0, 1 asked for all_reduce "
              "sum of 1000 f32 'x'; rank 2 for all_reduce sum of 900 f32 'x' (every rank must ask "
              "for the same collectives in the same order)\n");
    EXPECT_LT(result.ended_after, kSoon);
  }
}

RANK_BODY(never_comes) {
  if (std::getenv("RANK") == std::string("1")) return 0;
  CommunicatorOptions options;
  options.start_timeout = 1s;
  const Communicator world = Communicator::create(options);
  return 0;
}

// docs/acceptance.md, Failures: A rank that never joins is named.
TEST(Processes, AbsentRankIsNamed) {
  const auto results = try_processes("never_comes", {.ranks = 3});
  for (const std::size_t rank : {0, 2}) {
    EXPECT_EQ(results[rank].exit_code, 1) << results[rank].output;
    EXPECT_THAT(results[rank].error(), AllOf(StartsWith("timeout: rank "),
                                             HasSubstr("rank 1 of 3 did not come within 1000 ms")));
  }
}

RANK_BODY(leaves_early) {
  Communicator world = Communicator::create();
  barrier(world);
  if (world.rank() == 0) {
    world.finish();
    return 0;
  }
  Communicator rest = world.split(1);
  return 0;
}

// docs/acceptance.md, Ranks without data: A rank that has finished does not count as lost.
TEST(Processes, FinishedRankIsNoLostPeer) {
  const auto results = try_processes("leaves_early", {.ranks = 3});
  EXPECT_EQ(results[0].exit_code, 0) << results[0].output;
  for (const std::size_t rank : {1, 2}) {
    EXPECT_THAT(results[rank].output,
                AllOf(HasSubstr("mismatch: "), HasSubstr("rank 0 asked for nothing more")));
  }
}

// Runs three worlds one after another in one job. What a world leaves in the store must not disturb
// the next one.
RANK_BODY(again) {
  for (int round = 0; round < 3; ++round) {
    Communicator world = Communicator::create();
    std::vector<int> data{round, world.rank()};
    all_reduce(world, view(data));
    EXPECT_THAT(data, testing::ElementsAre(3 * round, 3));
    world.finish();
    EXPECT_THROW(barrier(world), Error);
  }
  return 0;
}

// docs/acceptance.md, Disagreement and misuse: A job can have several worlds one after the other.
TEST(Processes, JobCanHaveSeveralWorldsInTurn) {
  run_processes("again", {.ranks = 3});
  run_processes("again", {.ranks = 3, .local_sizes = {2, 1}});
}

}  // namespace
}  // namespace bp::test

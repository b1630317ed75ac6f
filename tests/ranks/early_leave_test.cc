// A rank of a host that waits for no data leaves a collective before the others have begun it. What
// it would have learned there, it learns in its next call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

using Values = std::vector<std::int32_t>;

constexpr int kHostRanks = 4;

RanksOptions within_a_host(std::chrono::milliseconds timeout = std::chrono::seconds(20)) {
  RanksOptions options{.wire = Wire::shm};
  options.communicator.timeout = timeout;
  return options;
}

enum class Rooted { broadcast, scatter, gather, reduce };

// Returns what this rank holds afterwards: `root` gives or gets `count` numbers for each rank.
Values carry_out_rooted(Communicator& comm, Rooted kind, std::size_t count, int root) {
  const std::size_t all = count * static_cast<std::size_t>(comm.size());
  const bool is_root = comm.rank() == root;
  Values whole(all);
  Values part(count, comm.rank() + 1);
  if (is_root) {
    for (std::size_t i = 0; i < all; ++i) whole[i] = static_cast<std::int32_t>(i) + root;
  }
  switch (kind) {
    case Rooted::broadcast:
      if (is_root) part.assign(count, 70 + root);
      broadcast(comm, view(part), {.root = root});
      return part;
    case Rooted::scatter:
      scatter(comm, const_view(whole), view(part), {.root = root});
      return part;
    case Rooted::gather:
      gather(comm, const_view(part), view(whole), {.root = root});
      return is_root ? whole : Values();
    case Rooted::reduce:
      reduce(comm, view(part), {.root = root});
      return is_root ? part : Values();
  }
  return {};
}

Values expected_of(Rooted kind, std::size_t count, int root, int rank, int ranks) {
  Values numbers;
  switch (kind) {
    case Rooted::broadcast:
      return Values(count, 70 + root);
    case Rooted::scatter:
      for (std::size_t i = 0; i < count; ++i) {
        numbers.push_back(static_cast<std::int32_t>(static_cast<std::size_t>(rank) * count + i) +
                          root);
      }
      return numbers;
    case Rooted::gather:
      for (int from = 0; rank == root && from < ranks; ++from) {
        numbers.insert(numbers.end(), count, from + 1);
      }
      return numbers;
    case Rooted::reduce:
      return rank == root ? Values(count, ranks * (ranks + 1) / 2) : numbers;
  }
  return numbers;
}

// The rank that begins an operation only when all others that need not wait for it have left it.
class Latecomer : public testing::TestWithParam<Rooted> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds,
    Latecomer,
    testing::Values(Rooted::broadcast, Rooted::scatter, Rooted::gather, Rooted::reduce));

TEST_P(Latecomer, HoldsUpNoRankThatNeedsNothingOfIt) {
  const bool root_gives = GetParam() == Rooted::broadcast || GetParam() == Rooted::scatter;
  const int late = root_gives ? kHostRanks - 1 : 0;
  for (const std::size_t count : {1, 2}) {
    std::latch left(kHostRanks - 1);
    run_ranks(
        kHostRanks,
        [&](Communicator& comm) {
          if (comm.rank() == late) left.wait();
          EXPECT_EQ(carry_out_rooted(comm, GetParam(), count, 0),
                    expected_of(GetParam(), count, 0, comm.rank(), kHostRanks));
          if (comm.rank() != late) left.count_down();
        },
        within_a_host());
  }
}

TEST(EarlyLeave, OfABroadcastByTheStage) {
  std::latch left(kHostRanks - 1);
  run_ranks(
      kHostRanks,
      [&](Communicator& comm) {
        if (comm.rank() == 3) left.wait();
        EXPECT_EQ(carry_out_rooted(comm, Rooted::broadcast, 200, 0), Values(200, 70));
        if (comm.rank() != 3) left.count_down();
      },
      within_a_host());
}

// Operations of all lengths, from one number to several chunks of the stage, in any order. A rank
// that runs ahead overwrites nothing that another still reads.
TEST(EarlyLeave, LeavesEveryResultExact) {
  run_ranks(
      kHostRanks,
      [](Communicator& comm) {
        std::minstd_rand shared(1);
        std::minstd_rand own(static_cast<unsigned>(comm.rank()) + 1);
        constexpr std::array kCounts = {1, 2, 3, 11, 60, 200, 256, 257, 700, 2000};
        for (int round = 0; round < 3000; ++round) {
          const auto kind = static_cast<Rooted>(shared() % 4);
          const auto count = static_cast<std::size_t>(kCounts[shared() % kCounts.size()]);
          const auto root = static_cast<int>(shared() % kHostRanks);
          const bool sums = shared() % 8 == 0;
          if (own() % 4 == 0) std::this_thread::yield();
          ASSERT_EQ(carry_out_rooted(comm, kind, count, root),
                    expected_of(kind, count, root, comm.rank(), kHostRanks))
              << "round " << round;
          if (!sums) continue;
          Values sum(count, round);
          all_reduce(comm, view(sum));
          ASSERT_EQ(sum, Values(count, kHostRanks * round));
        }
      },
      within_a_host());
}

// Rank 3 asks for something else, and the others have left before it does.
TEST(EarlyLeave, OfADisagreementIsToldInTheNextCall) {
  for (const bool finishes : {false, true}) {
    std::latch left(kHostRanks - 1);
    const auto errors = try_ranks(
        kHostRanks,
        [&](Communicator& comm) {
          if (comm.rank() == 3) {
            left.wait();
            return barrier(comm);
          }
          (void)carry_out_rooted(comm, Rooted::broadcast, 1, 0);
          left.count_down();
          if (!finishes) (void)carry_out_rooted(comm, Rooted::broadcast, 2, 0);
        },
        within_a_host());
    EXPECT_THAT(errors, Each("mismatch: ranks disagree on collective 0 of world: ranks 0, 1, 2 "
                             "asked for broadcast of 1 i32 from rank 0; rank 3 for barrier (every "
                             "rank must ask for the same collectives in the same order)"));
  }
}

// The others compute, and ask for nothing more for a long time.
TEST(EarlyLeave, OfADisagreementIsToldByTheRankThatSeesIt) {
  std::latch left(kHostRanks - 1);
  std::latch told(1);
  const auto errors = try_ranks(
      kHostRanks,
      [&](Communicator& comm) {
        if (comm.rank() != 3) {
          (void)carry_out_rooted(comm, Rooted::broadcast, 1, 0);
          left.count_down();
          told.wait();
          return barrier(comm);
        }
        left.wait();
        try {
          barrier(comm);
        } catch (...) {
          told.count_down();
          throw;
        }
      },
      within_a_host(std::chrono::seconds(4)));
  EXPECT_EQ(errors[3],
            "mismatch: ranks disagree: rank 3 is in barrier, and rank 0 was in another operation "
            "instead, which it has left (every rank must ask for the same collectives in the same "
            "order)");
  for (const int rank : {0, 1, 2}) {
    EXPECT_THAT(errors[static_cast<std::size_t>(rank)], HasSubstr("ranks disagree: rank 3 is in"));
  }
}

// Ranks 0 and 1 have left the gather, and rank 2 never comes. Rank 3, the root, must not take the
// others for missing.
TEST(EarlyLeave, IsNotTakenForAbsence) {
  std::latch left(2);
  std::latch told(1);
  const auto errors = try_ranks(
      kHostRanks,
      [&](Communicator& comm) {
        if (comm.rank() < 2) {
          (void)carry_out_rooted(comm, Rooted::gather, 1, 3);
          left.count_down();
        }
        if (comm.rank() != 3) {
          told.wait();
          return barrier(comm);
        }
        left.wait();
        try {
          (void)carry_out_rooted(comm, Rooted::gather, 1, 3);
        } catch (...) {
          told.count_down();
          throw;
        }
      },
      within_a_host(std::chrono::seconds(1)));
  EXPECT_THAT(errors[3], StartsWith("timeout: rank 3 waited 1000 ms for rank 2 "));
}

}  // namespace
}  // namespace bp::test

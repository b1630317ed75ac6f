// Tests the rooted operations, the exchanges and the messages with ranks as threads.
#include "tests/ranks/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "base/text.h"
#include "bp/collective.h"
#include "bp/copy_on_write.h"
#include "bp/error.h"
#include "tests/support/bytes_in_memory.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using testing::Each;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const auto kRanks = testing::Values(1, 2, 3, 5);  // more ranks would only take the same paths again
#else
const auto kRanks = testing::Values(1, 2, 3, 4, 5, 7, 8);
#endif

class Operations : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Operations, kRanks);

// docs/acceptance.md, Values: all_to_all, gather, scatter and reduce_scatter are exact. In
// all_to_all each rank gives the counts that it expects, and the ranks compare them.
TEST_P(Operations, AreExact) {
  run_ranks(GetParam(), [](Communicator& comm) {
    EXPECT_EQ(check_all_operations(comm, 64), "") << comm.rank();
  });
}

// docs/acceptance.md, Values: all_to_all, gather, scatter and reduce_scatter are exact in shared
// memory.
TEST_P(Operations, AreExactInSharedMemory) {
  run_ranks(GetParam(),
            [](Communicator& comm) {
              EXPECT_EQ(check_all_operations(comm, 512), "") << comm.rank();
              for (int own = 0; own <= comm.size(); ++own) {
                EXPECT_EQ(check_allocated(comm, own, 3000), "");
                if (comm.size() <= 3) {
                  EXPECT_EQ(check_allocated(comm, own, 100'000), "");
                }
              }
            },
            {.wire = Wire::shm});
}

// reduce_scatter into its own input, whose other blocks stay as they are. The blocks are uneven,
// and one is empty.
void expect_reduce_scatter_in_place(int ranks, std::size_t unit, const RanksOptions& options) {
  run_ranks(
      ranks,
      [&](Communicator& comm) {
        std::vector<std::size_t> counts;
        for (int r = 0; r < ranks; ++r) counts.push_back(static_cast<std::size_t>(r % 3) * unit);
        const Buffer buffer =
            comm.allocate(2 * unit * sizeof(float) * static_cast<std::size_t>(ranks));
        const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
        const std::span<float> data(reinterpret_cast<float*>(buffer.data()), all);
        const auto given = [&](std::size_t i) {
          return static_cast<float>(i % 100 + 100 * static_cast<std::size_t>(comm.rank()));
        };
        for (std::size_t i = 0; i < all; ++i) data[i] = given(i);
        const auto before = counts.begin() + comm.rank();
        const std::size_t begin = std::accumulate(counts.begin(), before, std::size_t{0});
        reduce_scatter_v(comm, const_view(data), view(data.subspan(begin, *before)), counts);
        for (std::size_t i = 0; i < all; ++i) {
          const bool is_own = i >= begin && i < begin + *before;
          const auto sum =
              static_cast<float>(static_cast<std::size_t>(ranks) * (i % 100) +
                                 100 * static_cast<std::size_t>(ranks * (ranks - 1) / 2));
          ASSERT_EQ(data[i], is_own ? sum : given(i)) << i;
        }
      },
      options);
}

// docs/acceptance.md, Values: reduce_scatter may write into its input.
TEST(OperationsReduceScatter, MayWriteIntoItsInput) {
  for (const std::size_t unit : {1, 3, 300, 70'000}) {
    for (const int ranks : {2, 3, 4}) {
      expect_reduce_scatter_in_place(ranks, unit, {.wire = Wire::shm});
    }
    expect_reduce_scatter_in_place(3, unit, {.segments = {.max_bytes = 4096, .min_bytes = 1024}});
    expect_reduce_scatter_in_place(
        4, unit, {.local_sizes = {3, 1}, .segments = {.max_bytes = 4096, .min_bytes = 1024}});
  }
}

// docs/acceptance.md, Values: The ranks of a host can allocate memory together.
TEST(AllocateShared, IsTheSameMemoryOnAllRanks) {
  run_ranks(3,
            [](Communicator& comm) {
              for (int round = 0; round < 3; ++round) {  // the memory of a round is used again
                const Buffer buffer = comm.allocate_shared(100'000);
                const std::span<std::int32_t> all(reinterpret_cast<std::int32_t*>(buffer.data()),
                                                  buffer.bytes() / sizeof(std::int32_t));
                const auto rank = static_cast<std::size_t>(comm.rank());
                for (std::size_t i = rank; i < all.size(); i += 3) {
                  all[i] = static_cast<std::int32_t>(i) + round;
                }
                barrier(comm);
                for (std::size_t i = 0; i < all.size(); ++i) {
                  ASSERT_EQ(all[i], static_cast<std::int32_t>(i) + round);
                }
                barrier(comm);
              }
              Communicator group = comm.split(comm.rank() == 0 ? 0 : 1);
              const Buffer buffer = group.allocate_shared(64);
              if (group.rank() == 0) buffer.data()[7] = std::byte(comm.rank() + 1);
              barrier(group);
              EXPECT_EQ(buffer.data()[7], std::byte(comm.rank() == 0 ? 1 : 2));
            },
            {.wire = Wire::shm});
}

TEST(AllocateShared, IsCopiedByThoseWhoWriteToTheirCopy) {
  run_ranks(2,
            [](Communicator& comm) {
              const Buffer buffer = comm.allocate_shared(10'000);
              const std::span shared(buffer.data(), buffer.bytes());
              if (comm.rank() == 0) std::ranges::fill(shared, std::byte{5});
              barrier(comm);
              const std::shared_ptr<std::byte> copy = copy_on_write(comm, shared);
              const std::span own(copy.get(), shared.size());
              EXPECT_THAT(own, Each(std::byte{5}));
              const auto place = static_cast<std::size_t>(comm.rank()) * 7'000;
              own[place] = std::byte{6};
              barrier(comm);
              EXPECT_THAT(shared, Each(std::byte{5}));
              EXPECT_EQ(std::ranges::count(own, std::byte{6}), 1);
              EXPECT_EQ(own[place], std::byte{6});
            },
            {.wire = Wire::shm});
}

// Memory that the process has freed is not zeros, so calloc() would write it.
TEST(Allocate, TakesNoMemoryBeforeItIsTouched) {
  run_ranks(1, [](Communicator& comm) {
    constexpr std::size_t kBytes = std::size_t{16} << 20;
    for (int i = 0; i < 2; ++i) {  // malloc() keeps the second
      const std::vector<std::byte> freed(kBytes, std::byte{1});
      EXPECT_EQ(freed.back(), std::byte{1});
    }
    const Buffer buffer = comm.allocate(kBytes / 2);
    const std::span all(buffer.data(), buffer.bytes());
    EXPECT_EQ(bytes_in_memory(all.data(), all.size()), 0);
    EXPECT_EQ(std::ranges::count(all, std::byte{0}), std::ssize(all));
  });
}

TEST(AllocateShared, NeedsOneHostWhoseRanksShareMemory) {
  for (const RanksOptions& options :
       {RanksOptions{.wire = Wire::gloo}, RanksOptions{.local_sizes = {2, 1}}}) {
    run_ranks(
        3,
        [](Communicator& comm) {
          try {
            const Buffer buffer = comm.allocate_shared(64);
            ADD_FAILURE() << "not all ranks share memory";
          } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::unavailable);
          }
        },
        options);
  }
}

TEST(OperationsOverGloo, AreExact) {
  RanksOptions options{.wire = Wire::gloo, .segments = {.max_bytes = 4096, .min_bytes = 1024}};
  run_ranks(
      3, [](Communicator& comm) { EXPECT_EQ(check_main_operations(comm, 4096), ""); }, options);
}

TEST(OperationsOverFaulty, DelayChangesNothing) {
  RanksOptions options;
  options.fault = [](int rank) {
    return rank == 1
               ? Fault{.kind = Fault::Kind::delay, .at = 40, .delay = std::chrono::milliseconds(30)}
               : Fault{};
  };
  run_ranks(
      4, [](Communicator& comm) { EXPECT_EQ(check_main_operations(comm, 64), ""); }, options);
}

TEST(OperationsAsync, RunInTheirOrder) {
  run_ranks(3, [](Communicator& comm) {
    const auto rank = static_cast<std::int32_t>(comm.rank());
    std::vector<std::int32_t> sum = {rank};
    std::vector<std::int32_t> all(3);
    std::vector<std::int32_t> part(1);
    std::vector<std::int32_t> swapped(3);
    const std::vector<std::size_t> one_each(3, 1);
    std::vector<std::int32_t> swapped_again(3);
    const std::vector<std::int32_t> own = {10 * rank};
    const auto mine = const_view(own);
    std::vector<Work> works;
    works.push_back(reduce_async(comm, view(sum), {.root = 2}));
    works.push_back(gather_async(comm, mine, view(all), {.root = 2}));
    works.push_back(gather_v_async(comm, mine, view(all), one_each, {.root = 2}));
    works.push_back(scatter_async(comm, const_view(all), view(part), {.root = 2}));
    works.push_back(scatter_v_async(comm, const_view(all), view(part), one_each, {.root = 2}));
    works.push_back(all_gather_async(comm, mine, view(all)));
    works.push_back(all_gather_v_async(comm, mine, view(all), one_each));
    works.push_back(all_to_all_async(comm, const_view(all), view(swapped)));
    works.push_back(all_to_all_v_async(comm, const_view(swapped), view(swapped_again),
                                       {.send = one_each, .receive = one_each}));
    works.push_back(reduce_scatter_async(comm, const_view(all), view(part)));
    for (Work& work : works) work.wait();
    EXPECT_EQ(sum[0], rank == 2 ? 3 : rank);
    EXPECT_THAT(all, testing::ElementsAre(0, 10, 20));
    EXPECT_THAT(swapped, Each(10 * rank));
    EXPECT_THAT(swapped_again, testing::ElementsAre(0, 10, 20));
    EXPECT_THAT(part, Each(30 * rank));
  });
}

// The 5 rows of 3 elements give the 3 ranks 2, 2 and 1 rows, while blocks of elements would have 5
// elements each.
// docs/acceptance.md, Values: reduce_scatter cuts into blocks as equal as possible, or by the
// caller's counts, such as rows.
TEST(OperationsReduceScatterV, CutsByRows) {
  run_ranks(3, [](Communicator& comm) {
    std::vector<std::int32_t> matrix(15);
    for (std::size_t j = 0; j < matrix.size(); ++j) {
      matrix[j] = static_cast<std::int32_t>(j) + 100 * comm.rank();
    }
    std::vector<std::size_t> counts;
    for (int r = 0; r < 3; ++r) counts.push_back(block_of(5, 3, r).count * 3);
    std::vector<std::int32_t> rows(counts[static_cast<std::size_t>(comm.rank())]);
    reduce_scatter_v_async(comm, const_view(matrix), view(rows), counts).wait();
    const std::int32_t first = comm.rank() * 6;
    std::vector<std::int32_t> wanted(rows.size());
    for (std::size_t j = 0; j < wanted.size(); ++j) {
      wanted[j] = 3 * (first + static_cast<std::int32_t>(j)) + 300;
    }
    EXPECT_EQ(rows, wanted) << comm.rank();
  });
}

// docs/acceptance.md, Values: An asynchronous barrier is done once all ranks have entered it.
TEST(OperationsBarrier, AsyncIsDoneOnceAllHaveEntered) {
  std::atomic<int> waited = 0;
  run_ranks(3, [&](Communicator& comm) {
    while (comm.rank() == 0 && waited < 2) std::this_thread::yield();
    Work barrier = barrier_async(comm, {.name = "epoch"});
    if (comm.rank() != 0) {
      EXPECT_FALSE(barrier.wait_for(std::chrono::milliseconds(20)))
          << "rank 0 has not entered the barrier yet";
      ++waited;
    }
    std::vector<std::int32_t> sum = {1};
    all_reduce(comm, view(sum));
    EXPECT_TRUE(barrier.done()) << "the operation that was started first must be done";
    barrier.wait();
    EXPECT_EQ(sum[0], 3);
  });
}

// docs/acceptance.md, Values: Objects of any length arrive whole at all ranks.
// docs/features.md, Gradients: Objects from all ranks | `broadcast_object`, `all_gather_object` of
// bp::comm
TEST(OperationsObjects, ArriveWholeAtAnyLength) {
  run_ranks(4, [](Communicator& comm) {
    const auto text_of = [](int rank) {
      return std::string(static_cast<std::size_t>(rank * 100), static_cast<char>(rank));
    };
    EXPECT_THAT(all_gather_object(comm, text_of(comm.rank()), {.name = "texts"}),
                testing::ElementsAre(text_of(0), text_of(1), text_of(2), text_of(3)));
    EXPECT_THAT(all_gather_object(comm, ""), testing::ElementsAre("", "", "", ""));
    for (const int root : {3, 0}) {  // the longest object and the empty one
      std::string text = text_of(comm.rank());
      broadcast_object(comm, text, {.root = root, .name = "one"});
      EXPECT_EQ(text, text_of(root));
    }
  });
}

}  // namespace
}  // namespace bp::test

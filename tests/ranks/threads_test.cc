// Tests all collectives with ranks as threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <semaphore>
#include <span>
#include <thread>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "bp/activity.h"
#include "tests/ranks/collectives.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const auto kRanks = testing::Values(1, 2, 3, 5);  // more ranks would only take the same paths again
#else
const auto kRanks = testing::Range(1, 9);
#endif

class Threads : public testing::TestWithParam<std::tuple<int, std::string>> {
 protected:
  [[nodiscard]] static int ranks() { return std::get<0>(GetParam()); }
  [[nodiscard]] static RanksOptions options() {
    RanksOptions options;
    options.communicator.algorithm = std::get<1>(GetParam());
    return options;
  }
};

// docs/acceptance.md, Values: Every collective computes the exact result in every type, with 1 to 8
// ranks: sums, averages, minima, maxima and products; each root; parts of equal and unequal length;
// vectors without elements. An average of integers is truncated towards zero.
TEST_P(Threads, EveryCollectiveIsExact) {
  run_ranks(
      ranks(),
      [](Communicator& comm) { EXPECT_EQ(check_all_collectives(comm, 64), "") << comm.rank(); },
      options());
}

// docs/acceptance.md, Values: All ranks get the same bits.
TEST_P(Threads, RanksAgreeBitForBit) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        EXPECT_EQ(check_bitwise_equality(comm, 20), "");
        EXPECT_EQ(check_bitwise_equality(comm, 1001), "");
      },
      options());
}

INSTANTIATE_TEST_SUITE_P(
    Ranks,
    Threads,
    testing::Combine(
        kRanks,
        testing::Values("ring", "recursive_doubling", "halving_doubling", "tree", "double_tree")),
    [](const auto& param) {
      return concat(std::get<1>(param.param), "_", std::get<0>(param.param));
    });

// Hosts of different sizes. The ranks of a host share memory, or send messages to each other.
class ThreadsOnHosts : public testing::TestWithParam<std::tuple<std::vector<int>, Wire>> {
 protected:
  [[nodiscard]] static int ranks() {
    const std::vector<int>& sizes = std::get<0>(GetParam());
    return std::accumulate(sizes.begin(), sizes.end(), 0);
  }
  [[nodiscard]] static RanksOptions options() {
    RanksOptions options;
    std::tie(options.local_sizes, options.wire) = GetParam();
    options.communicator.algorithm = "hierarchical";
    return options;
  }
};

// docs/acceptance.md, Values: Every algorithm is exact on uneven hosts (3+1, 1+2+3, 2+2 and 4+3
// ranks), with and without shared memory inside a host.
TEST_P(ThreadsOnHosts, EveryCollectiveIsExactAndGroupsWork) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        EXPECT_EQ(comm.backend(), options().wire == Wire::shm ? "test+shm" : "test");
        EXPECT_EQ(check_all_collectives(comm, 64), "") << comm.rank();
        EXPECT_EQ(check_bitwise_equality(comm, 20), "");
        EXPECT_EQ(check_bitwise_equality(comm, 1001), "");
        EXPECT_EQ(check_split(comm), "");
      },
      options());
}

// docs/acceptance.md, Operations in flight and groups: On several hosts no rank completes a
// collective before all ranks have entered it.
TEST_P(ThreadsOnHosts, NoRankCompletesBeforeAllHaveEntered) {
  std::atomic<int> entered = 0;
  run_ranks(
      ranks(),
      [&](Communicator& comm) {
        const auto size = static_cast<std::size_t>(comm.size());
        std::vector<float> one(3, 1);
        std::vector<float> all(3 * size, 1);
        const std::vector<std::function<void(int root)>> operations = {
            [&](int) { barrier(comm); },
            [&](int root) { broadcast(comm, view(one), {.root = root}); },
            [&](int root) { reduce(comm, view(one), {.root = root}); },
            [&](int) { reduce_scatter(comm, const_view(all), view(one)); },
            [&](int) { all_gather(comm, const_view(one), view(all)); },
            [&](int root) { gather(comm, const_view(one), view(all), {.root = root}); },
            [&](int root) { scatter(comm, const_view(all), view(one), {.root = root}); },
        };
        int calls = 0;
        for (int late = 0; late < comm.size(); ++late) {
          for (const auto& operation : operations) {
            if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(3));
            ++entered;
            operation((late + calls) % comm.size());
            EXPECT_GE(entered, ++calls * comm.size()) << "operation " << calls << ", rank " << late;
          }
        }
        for (const auto& call : comm.recent()) EXPECT_EQ(call.algorithm, "hierarchical");
      },
      options());
}

// On hosts with several ranks, several ranks per host exchange data with the other hosts.
// docs/acceptance.md, Values: Long vectors use several connections between two hosts, and all ranks
// get the same bits.
TEST_P(ThreadsOnHosts, LongVectorsUseSeveralRails) {
  RanksOptions longer = options();
  longer.segments = {.max_bytes = 64 << 10, .min_bytes = 16 << 10};
  longer.shared_chunk = 32 << 10;
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        constexpr std::size_t kCount = 100'003;
        EXPECT_EQ(check_bitwise_equality(comm, kCount), "");
        for (const bool allocated : {true, false}) {
          Buffer buffer = comm.allocate(kCount * sizeof(float));
          std::vector<float> other(kCount);
          const std::span<float> data =
              allocated ? std::span(reinterpret_cast<float*>(buffer.data()), kCount)
                        : std::span(other);
          for (std::size_t i = 0; i < kCount; ++i) {
            data[i] = static_cast<float>((i % 97) * static_cast<std::size_t>(comm.rank() + 1));
          }
          all_reduce(comm, view(data));
          const auto sum = static_cast<std::size_t>(comm.size() * (comm.size() + 1) / 2);
          for (std::size_t i = 0; i < kCount; ++i) {
            ASSERT_EQ(data[i], static_cast<float>((i % 97) * sum)) << i;
          }
        }
      },
      longer);
}

INSTANTIATE_TEST_SUITE_P(Hosts,
                         ThreadsOnHosts,
                         testing::Combine(testing::Values(std::vector{3, 1},
                                                          std::vector{1, 2, 3},
                                                          std::vector{2, 2},
                                                          std::vector{4, 3}),
                                          testing::Values(Wire::inproc, Wire::shm)));

RanksOptions over_gloo() {
  RanksOptions options;
  options.wire = Wire::gloo;
  options.segments = {.max_bytes = 4096, .min_bytes = 1024};
  return options;
}

TEST(ThreadsOverGloo, EveryCollectiveIsExact) {
  for (const char* algorithm :
       {"ring", "recursive_doubling", "halving_doubling", "tree", "double_tree"}) {
    RanksOptions options = over_gloo();
    options.communicator.algorithm = algorithm;
    run_ranks(
        3, [](Communicator& comm) { EXPECT_EQ(check_main_collectives(comm, 4096), ""); }, options);
  }
}

// Gloo's thread of one rank may be about to handle the end of a connection that the rank closes.
TEST(ThreadsOverGloo, AllRanksCloseTheirConnectionsAtOnce) {
  for (int round = 0; round < 40; ++round) {
    run_ranks(4, [](Communicator& comm) { barrier(comm); }, {.wire = Wire::gloo});
  }
}

TEST(ThreadsOverGloo, AThousandInFlightAndGroups) {
  run_ranks(
      4,
      [](Communicator& comm) {
        EXPECT_EQ(check_many_async(comm), "");
        EXPECT_EQ(check_split(comm), "");
        EXPECT_EQ(check_bitwise_equality(comm, 100'003), "");
      },
      over_gloo());
}

// docs/acceptance.md, Values: A thousand operations may be in flight.
TEST(ThreadsAsync, AThousandInFlight) {
  run_ranks(4, [](Communicator& comm) { EXPECT_EQ(check_many_async(comm), ""); });
}

// docs/acceptance.md, Operations in flight and groups: Groups can be made of groups, several exist
// at the same time, and each colour is a group of its own.
TEST(ThreadsSplit, GroupsOfGroups) {
  for (const int ranks : {1, 2, 5, 8}) {
    run_ranks(ranks, [](Communicator& comm) { EXPECT_EQ(check_split(comm), ""); });
  }
}

// Rank 0 starts no operation of the group before the other ranks have completed their barrier.
// docs/acceptance.md, Values: A barrier of a group concerns its members only.
TEST(ThreadsSplit, BarrierIsForItsGroupOnly) {
  std::counting_semaphore<> through{0};
  run_ranks(3, [&](Communicator& comm) {
    Communicator group = comm.split(comm.rank() == 0 ? 0 : 1);
    if (comm.rank() == 0) {
      EXPECT_TRUE(through.try_acquire_for(std::chrono::seconds(10)));
      EXPECT_TRUE(through.try_acquire_for(std::chrono::seconds(10)));
    } else {
      barrier(group);
      through.release();
    }
    barrier(comm);
  });
}

class ThreadsShm : public testing::TestWithParam<int> {
 protected:
  static RanksOptions options() { return {.wire = Wire::shm}; }
};

TEST_P(ThreadsShm, EveryCollectiveIsExact) {
  run_ranks(
      GetParam(),
      [](Communicator& comm) {
        EXPECT_EQ(comm.backend(), comm.size() == 1 ? "self" : "shm");
        EXPECT_EQ(check_all_collectives(comm, 512), "") << comm.rank();
        EXPECT_EQ(check_bitwise_equality(comm, 20), "");
        EXPECT_EQ(check_bitwise_equality(comm, 1001), "");
      },
      options());
}

TEST_P(ThreadsShm, MemoryOfTheCommunicatorIsUsedInPlace) {
  run_ranks(
      GetParam(),
      [](Communicator& comm) {
        const int ranks = comm.size();
        // the number of ranks whose memory is the communicator's
        for (int own = 0; own <= ranks; ++own) {
          for (const std::size_t count : {11, 1000, 70'000}) {
            Buffer buffer = comm.allocate(count * sizeof(float));
            std::vector<float> other(count);
            const std::span<float> data =
                comm.rank() < own ? std::span(reinterpret_cast<float*>(buffer.data()), count)
                                  : std::span(other);
            for (std::size_t i = 0; i < count; ++i) {
              data[i] = static_cast<float>((i % 97) * static_cast<std::size_t>(comm.rank() + 1));
            }
            all_reduce(comm, view(data));
            const auto sum = static_cast<std::size_t>(ranks * (ranks + 1) / 2);
            for (std::size_t i = 0; i < count; ++i) {
              ASSERT_EQ(data[i], static_cast<float>((i % 97) * sum)) << own << " of " << ranks;
            }
            std::ranges::fill(data, static_cast<float>(comm.rank()));
            broadcast(comm, view(data), {.root = ranks - 1});
            ASSERT_EQ(std::ranges::count(data, static_cast<float>(ranks - 1)),
                      static_cast<std::ptrdiff_t>(count));
          }
        }
      },
      options());
}

// Each vector of a gather lies in the communicator's memory or in any: that of the root's output
// and that of each input. Blocks are empty, short, and longer than a chunk of the stage.
TEST_P(ThreadsShm, AGatherTakesMemoryOfEachKind) {
  run_ranks(
      GetParam(),
      [](Communicator& comm) {
        const auto ranks = static_cast<std::size_t>(comm.size());
        const auto rank = static_cast<std::size_t>(comm.rank());
        for (std::size_t choice = 0; choice < std::size_t{2} << ranks; ++choice) {
          for (std::size_t root = 0; root < ranks; ++root) {
            std::vector<std::size_t> counts(ranks);
            for (std::size_t i = 0; i < ranks; ++i) counts[i] = (i + choice) % 4 * 350;
            const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
            Buffer own_input = comm.allocate(counts[rank] * sizeof(std::int32_t));
            Buffer own_output = comm.allocate(all * sizeof(std::int32_t));
            std::vector<std::int32_t> any_input(counts[rank]);
            std::vector<std::int32_t> any_output(all);
            const std::span<std::int32_t> input =
                (choice >> rank & 1) != 0
                    ? std::span(reinterpret_cast<std::int32_t*>(own_input.data()), counts[rank])
                    : std::span(any_input);
            const std::span<std::int32_t> output =
                choice >> ranks != 0
                    ? std::span(reinterpret_cast<std::int32_t*>(own_output.data()), all)
                    : std::span(any_output);
            std::iota(input.begin(), input.end(), static_cast<std::int32_t>(10'000 * rank));
            gather_v(comm, const_view(input), rank == root ? view(output) : View{}, counts,
                     {.root = static_cast<int>(root)});
            if (rank != root) continue;
            std::vector<std::int32_t> expected;
            for (std::size_t i = 0; i < ranks; ++i) {
              for (std::size_t k = 0; k < counts[i]; ++k) {
                expected.push_back(static_cast<std::int32_t>(10'000 * i + k));
              }
            }
            ASSERT_TRUE(std::ranges::equal(output, expected)) << choice << ", root " << root;
          }
        }
      },
      options());
}

TEST_P(ThreadsShm, AThousandInFlightAndGroups) {
  run_ranks(
      GetParam(),
      [](Communicator& comm) {
        EXPECT_EQ(check_many_async(comm), "");
        EXPECT_EQ(check_split(comm), "");
      },
      options());
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadsShm, kRanks);

}  // namespace
}  // namespace bp::test

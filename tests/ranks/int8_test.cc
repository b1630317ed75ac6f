// Tests sums that travel as int8 between hosts.
#include "comm/reduce/int8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "bp/collective.h"
#include "bp/error.h"
#include "tests/support/counted_ranks.h"
#include "tests/support/run_ranks.h"

namespace bp::test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

int ranks_of(const std::vector<int>& hosts) {
  return std::accumulate(hosts.begin(), hosts.end(), 0);
}

// Returns numbers of a rank whose largest magnitudes differ from block to block.
std::vector<float> random_numbers(int rank, std::size_t count) {
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  std::normal_distribution<float> normal;
  std::vector<float> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(normal(random) * std::ldexp(1.0F, static_cast<int>(i / 64 % 20)));
  }
  return all;
}

// What all ranks have after a call, by rank.
struct Ends {
  std::vector<std::vector<float>> sums;
  std::vector<std::vector<float>> errors;

  explicit Ends(int ranks)
      : sums(static_cast<std::size_t>(ranks)), errors(static_cast<std::size_t>(ranks)) {}
};

class Int8Sums : public testing::TestWithParam<std::tuple<std::vector<int>, Wire>> {
 protected:
  [[nodiscard]] static const std::vector<int>& hosts() { return std::get<0>(GetParam()); }
  [[nodiscard]] static int ranks() { return ranks_of(hosts()); }
  [[nodiscard]] static RanksOptions options() {
    return {.wire = std::get<1>(GetParam()),
            .local_sizes = hosts(),
            .segments = {.max_bytes = 4096, .min_bytes = 1024}};
  }
  // `given`: the data of a rank.
  template <class Given>
  static Ends sum(const Given& given) {
    Ends ends(ranks());
    run_ranks(
        ranks(),
        [&](Communicator& comm) {
          const auto rank = static_cast<std::size_t>(comm.rank());
          ends.sums[rank] = given(comm.rank());
          ends.errors[rank].assign(ends.sums[rank].size(), 9);
          all_reduce_int8(comm, view(ends.sums[rank]), ends.errors[rank], {.name = "numbers"});
        },
        options());
    for (const auto& sums : ends.sums) EXPECT_EQ(sums, ends.sums[0]) << "ranks must end equal";
    return ends;
  }
};
INSTANTIATE_TEST_SUITE_P(Hosts,
                         Int8Sums,
                         testing::Combine(testing::Values(std::vector{1, 1},
                                                          std::vector{2, 1},
                                                          std::vector{1, 3},
                                                          std::vector{2, 2},
                                                          std::vector{1, 1, 1},
                                                          std::vector{3, 1, 2},
                                                          std::vector{1, 1, 1, 1, 1}),
                                          testing::Values(Wire::inproc, Wire::gloo, Wire::shm)));

// Each host's sum, and that of all, has 127 or -127 in each block, so that all factors are 1.
// docs/acceptance.md, Values: A sum may travel between hosts as int8, a factor for 64 elements, and
// all ranks end with the same bits.
TEST_P(Int8Sums, AreExactWhereTheFactorIsOne) {
  for (const std::size_t count : {1, 64, 65, 500, 1000}) {
    std::vector<int> first_ranks = {0};  // of the hosts
    for (const int size : hosts()) first_ranks.push_back(first_ranks.back() + size);
    const auto given = [&](int rank) {
      const auto host = std::ranges::find(first_ranks, rank);
      const auto number = host - first_ranks.begin();
      std::vector<float> all(count);
      for (std::size_t i = 0; i < count; ++i) {
        all[i] = static_cast<float>((static_cast<int>(i) * 7 + rank * 3) % 21 - 10);
        if (i % 64 == 0)
          all[i] = host == first_ranks.end() ? 0.0F : number % 2 == 0 ? 127.0F : -127.0F;
      }
      return all;
    };
    const Ends ends = sum(given);
    std::vector<float> wanted(count);
    for (int rank = 0; rank < ranks(); ++rank) {
      std::ranges::transform(wanted, given(rank), wanted.begin(), std::plus());
    }
    if (hosts().size() == 2) {  // whose sum is not rounded
      EXPECT_EQ(ends.sums[0], wanted) << count;
    } else if (hosts().size() % 2 == 1) {
      EXPECT_EQ(ends.sums[0], wanted) << count;
    }
    for (const auto& errors : ends.errors) EXPECT_THAT(errors, Each(0)) << count;
  }
}

// docs/acceptance.md, Values: What int8 loses is known: the errors of all ranks and the sum add up
// to the exact sum.
TEST_P(Int8Sums, AndTheErrorsAreTheExactSum) {
  for (const std::size_t count : {3, 130, 1000, 100'003}) {
    const Ends ends = sum([&](int rank) { return random_numbers(rank, count); });
    std::vector<double> exact(count);
    std::vector<double> found(count);
    for (int rank = 0; rank < ranks(); ++rank) {
      std::ranges::transform(exact, random_numbers(rank, count), exact.begin(), std::plus());
      std::ranges::transform(found, ends.errors[static_cast<std::size_t>(rank)], found.begin(),
                             std::plus());
    }
    std::ranges::transform(found, ends.sums[0], found.begin(), std::plus());
    double largest_error = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const auto size_at = [&](std::size_t at) {
        return std::ldexp(1.0, static_cast<int>(std::min(at, count) / 64 % 20));
      };
      // A share of several need not begin where a block of numbers of one size does.
      const double size =
          std::max({size_at(i - std::min<std::size_t>(i, 63)), size_at(i), size_at(i + 63)});
      ASSERT_NEAR(found[i], exact[i], size * 1e-5) << i;  // of f32, in which hosts add
      // At most half a factor for each host, and for the sum; a normal number is below 5.
      ASSERT_NEAR(ends.sums[0][i], exact[i], size * 2 * 5 * ranks() * 2 / 127) << i;
      largest_error = std::max(largest_error, std::abs(ends.sums[0][i] - exact[i]) / size);
    }
    EXPECT_TRUE(largest_error > 1e-3 || count <= 100) << "nothing was rounded";
  }
}

TEST_P(Int8Sums, WithoutErrorsAreTheSame) {
  run_ranks(
      ranks(),
      [](Communicator& comm) {
        std::vector<float> one = random_numbers(comm.rank(), 300);
        std::vector<float> other = one;
        std::vector<float> errors(300);
        all_reduce_int8(comm, view(one));
        all_reduce_int8_async(comm, view(other), errors).wait();
        EXPECT_EQ(one, other);
        std::vector<float> none;
        all_reduce_int8(comm, view(none));
      },
      options());
}

TEST_P(Int8Sums, ShowOneThatIsNotFiniteToAllRanks) {
  for (const float odd :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const Ends ends = [&] {
      Ends all(ranks());
      run_ranks(
          ranks(),
          [&](Communicator& comm) {
            std::vector<float> data(2000, 1);
            if (comm.rank() == comm.size() - 1) data[1100] = odd;
            all_reduce_int8(comm, view(data));
            all.sums[static_cast<std::size_t>(comm.rank())] = data;
          },
          options());
      return all;
    }();
    for (const auto& sums : ends.sums) {
      EXPECT_TRUE(std::isnan(sums[1100]));
      const auto nans = std::ranges::count_if(sums, [](float one) { return std::isnan(one); });
      EXPECT_EQ(nans, 64);
    }
  }
}

// Each host sends (n-1)/n of the vector twice, in blocks of 66 bytes, instead of 256.
// docs/acceptance.md, Values: As int8, hosts send 33 bytes where they send 128 of f32.
TEST(Int8Bytes, AreThoseOfOneExchange) {
  constexpr std::size_t kCount = 64 * 3 * 100;
  for (const std::vector<int>& hosts :
       std::vector<std::vector<int>>{{1, 1}, {2, 1}, {3, 1}, {2, 2, 2}}) {
    std::mutex mutex;
    std::vector<std::size_t> sent(hosts.size());
    const auto host_of = [&](int rank) {
      std::size_t host = 0;
      for (; rank >= hosts[host]; ++host) rank -= hosts[host];
      return host;
    };
    run_counted_ranks(
        ranks_of(hosts),
        [&](Communicator& comm) {
          std::vector<float> data(kCount, 1);
          all_reduce_int8(comm, view(data));
        },
        {.wire = Wire::shm, .local_sizes = hosts},
        [&](int from, int to, std::size_t bytes) {
          const std::lock_guard lock(mutex);
          if (host_of(from) != host_of(to)) sent[host_of(from)] += bytes;
        });
    const std::size_t n = hosts.size();
    EXPECT_THAT(sent, Each(int8_bytes(kCount) * 2 * (n - 1) / n)) << n << " hosts";
  }
}

TEST(Int8, IsAnAllReduceOnOneHost) {
  for (const int ranks : {1, 3}) {
    run_ranks(ranks, [](Communicator& comm) {
      std::vector<float> exact = random_numbers(comm.rank(), 100);
      std::vector<float> data = exact;
      std::vector<float> errors(100, 9);
      all_reduce(comm, view(exact));
      all_reduce_int8(comm, view(data), errors);
      EXPECT_EQ(data, exact);
      EXPECT_THAT(errors, Each(0));
    });
  }
}

TEST(Int8, TakesSumsOfFloatsOnly) {
  const auto refusal = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  run_ranks(
      2,
      [&](Communicator& comm) {
        const std::string why =
            "all_reduce_int8: only sums of f32 in host memory travel as int8, without factors";
        std::vector<double> doubles(4);
        std::vector<float> data(4);
        EXPECT_EQ(refusal([&] { all_reduce_int8(comm, view(doubles)); }), why);
        EXPECT_EQ(refusal([&] { all_reduce_int8(comm, view(data), {}, {.op = ReduceOp::max}); }),
                  why);
        EXPECT_THAT(refusal([&] { all_reduce_int8(comm, view(data), {}, {.prescale = 2}); }),
                    HasSubstr("all_reduce_int8: there is nothing to scale"));
        EXPECT_EQ(refusal([&] { all_reduce_int8(comm, view(data), std::span(data).first(3)); }),
                  "all_reduce_int8: errors has 3 elements; it must have 4");
        EXPECT_EQ(refusal([&] { all_reduce_int8(comm, view(data), data); }),
                  "all_reduce_int8: input and output overlap");
      },
      {.local_sizes = {1, 1}});
}

TEST(Int8, IsAnOtherOperationThanAnAllReduce) {
  const std::vector<std::string> ends = try_ranks(2,
                                                  [](Communicator& comm) {
                                                    std::vector<float> data(4);
                                                    if (comm.rank() == 0) {
                                                      all_reduce(comm, view(data));
                                                    } else {
                                                      all_reduce_int8(comm, view(data));
                                                    }
                                                  },
                                                  {.local_sizes = {1, 1}});
  EXPECT_THAT(ends, Each(HasSubstr("all_reduce_int8 sum of 4 f32")));
  EXPECT_THAT(ends, Each(StartsWith("mismatch: ")));
}

TEST(Int8, CountsARankThatHasJoinedAsZeros) {
  RanksOptions options{.local_sizes = {1, 2}};
  options.communicator.joinable = true;
  run_ranks(
      3,
      [](Communicator& comm) {
        if (comm.rank() > 0) {
          std::vector<float> data(100, 127);
          all_reduce_int8(comm, view(data));
          EXPECT_THAT(data, Each(254));
        }
        static_cast<void>(join(comm));
      },
      options);
}

}  // namespace
}  // namespace bp::test

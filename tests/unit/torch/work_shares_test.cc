#include "bp/torch/work_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/places.h"

namespace bp {
namespace {

using ::testing::ElementsAre;

// A job whose last rank has a part of the others' speed in some steps. A step takes a rank two
// rows' time more than its rows, times a random factor of 8 %, and in one of 100 steps four times
// as long.
struct Simulation {
  int ranks = 2;
  std::int64_t rows = 32;  // of each rank
  std::function<double(int step)> speed = [](int) { return 1.0; };
  int steps = 600;
  bool adapts = true;
};

struct Simulated {
  double seconds = 0;
  int moves = 0;
  std::vector<std::vector<std::int64_t>> rows = {};  // by step
};

Simulated simulate(const Simulation& job, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> noise(0, 0.08);
  std::uniform_real_distribution<double> chance;
  WorkShares shares(job.ranks, {.rows = job.ranks * job.rows});
  Simulated result;
  for (int step = 0; step < job.steps; ++step) {
    std::vector<double> seconds;
    for (int rank = 0; rank < job.ranks; ++rank) {
      const double speed = rank + 1 == job.ranks ? job.speed(step) : 1;
      const auto own = static_cast<double>(shares.rows()[static_cast<std::size_t>(rank)]);
      seconds.push_back((2 + own) / speed * noise(random) * (chance(random) < 0.01 ? 4 : 1));
    }
    result.seconds += std::ranges::max(seconds);
    result.rows.push_back(shares.rows());
    if (job.adapts && shares.add(seconds)) ++result.moves;
  }
  return result;
}

// docs/acceptance.md, Unequal machines: Noise in the times of equal ranks moves no share.
TEST(WorkShares, AreNotMovedByNoise) {
  for (const int ranks : {2, 3, 4, 8}) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      EXPECT_EQ(simulate({.ranks = ranks, .steps = 1000}, seed).moves, 0) << ranks;
    }
  }
}

// Two looks at medians of eight steps moved these shares 51 times.
// docs/acceptance.md, Unequal machines: The noise of a busy machine moves no share, by recorded
// times of ten runs.
TEST(WorkShares, AreNotMovedByTheRecordedTimesOfEqualRanks) {
  std::ifstream file(kSourceDir + "/tests/unit/torch/recorded_times.txt");
  std::optional<WorkShares> shares;
  int runs = 0;
  int steps = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream numbers(line);
    const std::vector<double> seconds(std::istream_iterator<double>(numbers), {});
    if (seconds.empty()) {
      shares.reset();
      ++runs;
      continue;
    }
    if (!shares)
      shares.emplace(static_cast<int>(seconds.size()),
                     WorkSharesOptions{.rows = 32 * std::ssize(seconds)});
    EXPECT_FALSE(shares->add(seconds)) << "run " << runs;
    ++steps;
  }
  EXPECT_EQ(runs, 10);
  EXPECT_EQ(steps, 5 * 198 + 5 * 158);
}

// docs/features.md, Gradients: Rows of a step by the speed of ranks | `--share`, `WorkShares`
// docs/acceptance.md, Unequal machines: A job with a slow rank comes near the rate that its speed
// allows.
TEST(WorkShares, BringAJobWithASlowRankNearTheRateThatItsSpeedAllows) {
  struct Case {
    int ranks;
    double speed;
    double least;  // of the rate of equal ranks
    double equal;  // at most, with equal shares
  };
  for (const Case& one : {Case{2, 0.5, 0.70, 0.55}, Case{4, 0.5, 0.83, 0.60},
                          Case{2, 0.75, 0.85, 0.82}, Case{4, 0.25, 0.74, 0.35}}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const auto seconds = [&](double speed, bool adapts) {
        return simulate(
                   {.ranks = one.ranks, .speed = [speed](int) { return speed; }, .adapts = adapts},
                   seed)
            .seconds;
      };
      const double usual = seconds(1, false);
      EXPECT_GT(usual / seconds(one.speed, true), one.least) << one.ranks << ' ' << one.speed;
      EXPECT_LT(usual / seconds(one.speed, false), one.equal) << one.ranks << ' ' << one.speed;
    }
  }
}

// docs/acceptance.md, Unequal machines: A rank that is as fast as before has its share back within
// 50 steps.
TEST(WorkShares, FollowARankThatRecovers) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Simulated result = simulate(
        {.ranks = 4, .speed = [](int step) { return step >= 100 && step < 300 ? 0.5 : 1.0; }},
        seed);
    EXPECT_EQ(result.rows[99][3], 32);
    EXPECT_LT(result.rows[150][3], 22);
    EXPECT_GT(result.rows[350][3], 28);
    for (const std::vector<std::int64_t>& rows : result.rows) {
      EXPECT_EQ(std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), 128);
    }
  }
}

TEST(WorkShares, StayWithinWhatRanksCanTakeAndKeepEveryRankInWork) {
  WorkShares shares(3, {.rows = 30, .most = {12, 30, 30}});
  for (int step = 0; step < 40; ++step) shares.add(std::vector<double>{0.1, 1000, 1000});
  EXPECT_THAT(shares.rows(), ElementsAre(12, 9, 9));
  WorkShares free(2, {.rows = 10});
  for (int step = 0; step < 40; ++step) free.add(std::vector<double>{1, 1e6});
  EXPECT_THAT(free.rows(), ElementsAre(9, 1));
}

TEST(WorkShares, ContinueFromThoseOfAnEarlierRun) {
  WorkShares shares(2, {.rows = 10});
  shares.resume({7, 3});
  EXPECT_THAT(shares.rows(), ElementsAre(7, 3));
  for (int step = 0; step < 40; ++step) EXPECT_FALSE(shares.add(std::vector<double>{1, 1}));
}

}  // namespace
}  // namespace bp

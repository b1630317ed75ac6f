#include "trainer/batches/row_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <random>

#include "base/permutation.h"
#include "bp/error.h"

namespace bp::trainer {
namespace {

using Rows = std::vector<std::int64_t>;

Rows all_rows(std::int64_t count) {
  Rows rows(static_cast<std::size_t>(count));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Rows epoch_order(std::int64_t rows, std::uint64_t seed, std::int64_t epoch) {
  Rows order;
  for (std::int64_t position = 0; position < rows; ++position) {
    order.push_back(permuted(position, rows, seed, epoch));
  }
  return order;
}

// The rows of one step, rank by rank and micro-batch by micro-batch.
Rows step_rows(const RowSampler& sampler, const RowSamplerOptions& options, std::int64_t step) {
  Rows used;
  for (int rank = 0; rank < options.ranks; ++rank) {
    for (int micro_batch = 0; micro_batch < sampler.micro_batches(2); ++micro_batch) {
      const Rows rows = sampler.rows({{2, step * sampler.step_rows()}, rank, micro_batch});
      EXPECT_LE(rows.size(), static_cast<std::size_t>(options.batch));
      used.insert(used.end(), rows.begin(), rows.end());
    }
  }
  return used;
}

// docs/features.md, Splits and batches: Each sample once an epoch, on any number of ranks | always
TEST(RowSampler, UsesEveryRowOncePerEpochWithEqualStepsOnAnyNumberOfRanks) {
  for (const std::int64_t rows : {0, 1, 2, 7, 64, 65, 100, 257}) {
    for (int ranks = 1; ranks <= 9; ++ranks) {
      for (const int batch : {1, 3, 8}) {
        for (const int micro_batches : {1, 2, 3}) {
          const RowSamplerOptions options{rows, 5, ranks, batch, micro_batches};
          const RowSampler sampler(options);
          Rows used;
          for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
            const Rows of_step = step_rows(sampler, options, step);
            EXPECT_FALSE(of_step.empty());
            used.insert(used.end(), of_step.begin(), of_step.end());
          }
          std::sort(used.begin(), used.end());
          ASSERT_EQ(used, all_rows(rows)) << rows << " rows, " << ranks << " ranks";
        }
      }
    }
  }
}

// docs/features.md, Splits and batches: The samples of a step on all ranks | `--total-batch`
TEST(RowSampler, ATotalOfRowsIsDividedAmongAnyRanks) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    RowSamplerOptions options{.rows = 100, .seed = 5, .ranks = ranks, .total = 11};
    options.batch = (11 + ranks - 1) / ranks;
    const RowSampler sampler(options);
    EXPECT_EQ(sampler.step_rows(), 11);
    EXPECT_EQ(sampler.steps_per_epoch(), 10);
    Rows used;
    for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
      const Rows rows = step_rows(sampler, options, step);
      used.insert(used.end(), rows.begin(), rows.end());
    }
    EXPECT_EQ(used, epoch_order(100, 5, 2));
  }
}

TEST(RowSampler, TheRowsOfAStepDoNotDependOnTheirDivision) {
  const auto rows_of = [](int ranks, int batch, int micro_batches, std::int64_t step) {
    const RowSamplerOptions options{1000, 9, ranks, batch, micro_batches};
    return step_rows(RowSampler(options), options, step);
  };
  for (std::int64_t step = 0; step < 42; ++step) {  // the last step is short
    const Rows alone = rows_of(1, 24, 1, step);
    EXPECT_EQ(rows_of(2, 12, 1, step), alone);
    EXPECT_EQ(rows_of(3, 4, 2, step), alone);
    EXPECT_EQ(rows_of(8, 1, 3, step), alone);
  }
}

TEST(RowSampler, ABalancedStepHasTheSameRowsInMicroBatchesOfSimilarTokens) {
  constexpr std::int64_t kRows = 130;
  auto lengths = std::make_shared<std::vector<std::int32_t>>();
  for (std::int64_t row = 0; row < kRows; ++row) {
    lengths->push_back(static_cast<std::int32_t>(3 + row * row % 61));
  }
  RowSamplerOptions options{.rows = kRows, .seed = 7, .ranks = 4, .batch = 8, .micro_batches = 2};
  const RowSampler plain(options);
  options.balanced = true;
  options.lengths = lengths;
  const RowSampler balanced(options);
  for (EpochPosition at{3, 0}; at.epoch == 3; at = plain.after(at)) {
    EXPECT_EQ(balanced.after(at), plain.after(at));
    const auto parts = balanced.step(at);
    const auto expected = plain.step(at);
    ASSERT_EQ(parts.size(), expected.size());
    Rows rows;
    Rows expected_rows;
    std::int64_t fewest = kRows * 64;
    std::int64_t most = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      EXPECT_EQ(parts[part].size(), expected[part].size()) << "rows of micro-batch " << part;
      rows.insert(rows.end(), parts[part].begin(), parts[part].end());
      expected_rows.insert(expected_rows.end(), expected[part].begin(), expected[part].end());
      std::int64_t tokens = 0;
      for (const std::int64_t row : parts[part])
        tokens += (*lengths)[static_cast<std::size_t>(row)];
      fewest = std::min(fewest, tokens);
      most = std::max(most, tokens);
    }
    std::ranges::sort(rows);
    std::ranges::sort(expected_rows);
    EXPECT_EQ(rows, expected_rows);
    if (rows.size() == 64) {
      EXPECT_LE(most - fewest, 8) << "of " << most << " tokens";
    }
  }
}

// docs/features.md, Splits and batches: Ranks without rows | Their batches have the weight 0, so
// means are exact.
// docs/acceptance.md, Unequal machines: Each row is used once an epoch, whatever shares ranks have
// and however these change.
TEST(RowSampler, SharesThatChangeAtRandomUseEveryRowOnceInMicroBatchesThatFit) {
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 90; ++turn) {
    const auto rows = static_cast<std::int64_t>(1 + random() % 300);
    auto lengths = std::make_shared<std::vector<std::int32_t>>();
    for (std::int64_t row = 0; row < rows; ++row) {
      lengths->push_back(static_cast<std::int32_t>(2 + random() % 60));
    }
    RowSamplerOptions options{.rows = rows, .seed = 5, .lengths = lengths};
    Rows used;
    EpochPosition at{.epoch = 1, .used = 0};
    for (int step = 0; at.epoch == 1; ++step) {
      if (step % 4 == 0) {  // another world resumes the run
        options.ranks = static_cast<int>(1 + random() % 9);
        options.batch = static_cast<int>(1 + random() % 8);
        options.micro_batches = static_cast<int>(1 + random() % 3);
        options.balanced = random() % 2 == 0;
        options.max_tokens = turn % 3 == 0 ? static_cast<int>(61 + random() % 40) : 0;
      }
      const RowSampler sampler(options);
      Rows shares;
      while (turn % 5 != 0 && std::ssize(shares) < options.ranks) {
        shares.push_back(static_cast<std::int64_t>(random() % 40));
      }
      if (!shares.empty()) ++shares.front();
      Rows of_step;
      for (const auto& rank : sampler.step_by_rank(at, shares)) {
        EXPECT_GE(rank.size(), 1U);
        for (const Rows& micro_batch : rank) {
          const bool by_tokens = options.max_tokens > 0;
          std::int64_t size = 0;
          for (const std::int64_t row : micro_batch) {
            size += by_tokens ? (*lengths)[static_cast<std::size_t>(row)] : 1;
          }
          EXPECT_LE(size, by_tokens ? options.max_tokens : options.batch);
          of_step.insert(of_step.end(), micro_batch.begin(), micro_batch.end());
        }
      }
      // The rows of a step are those of equal shares.
      Rows equal;
      for (const Rows& part : sampler.step(at)) equal.insert(equal.end(), part.begin(), part.end());
      std::ranges::sort(equal);
      std::ranges::sort(of_step);
      EXPECT_EQ(of_step, equal);
      used.insert(used.end(), of_step.begin(), of_step.end());
      at = sampler.after(at);
    }
    std::ranges::sort(used);
    EXPECT_EQ(used, all_rows(rows));
  }
}

TEST(RowSampler, AnUnequalStepHasTokensInProportionToItsShares) {
  auto lengths = std::make_shared<std::vector<std::int32_t>>();
  for (int row = 0; row < 640; ++row) lengths->push_back(2 + row * 37 % 60);
  const RowSampler sampler(
      {.rows = 640, .seed = 5, .ranks = 2, .batch = 32, .balanced = true, .lengths = lengths});
  for (EpochPosition at; at.epoch == 0; at = sampler.after(at)) {
    std::vector<std::int64_t> tokens;
    for (const auto& rank : sampler.step_by_rank(at, Rows{48, 16})) {
      std::int64_t& sum = tokens.emplace_back(0);
      for (const Rows& micro_batch : rank) {
        for (const std::int64_t row : micro_batch) sum += (*lengths)[static_cast<std::size_t>(row)];
      }
    }
    EXPECT_NEAR(static_cast<double>(tokens[0]) / static_cast<double>(tokens[1]), 3, 0.2);
  }
}

TEST(RowSampler, AShortLastStepIsDividedEvenly) {
  const RowSampler sampler({.rows = 10, .seed = 1, .ranks = 4, .batch = 2});
  EXPECT_EQ(sampler.step_rows(), 8);
  EXPECT_EQ(sampler.steps_per_epoch(), 2);
  std::map<int, std::size_t> sizes;
  for (int rank = 0; rank < 4; ++rank) {
    sizes[rank] = sampler.rows({.position = {0, 8}, .rank = rank}).size();
  }
  EXPECT_THAT(sizes, testing::ElementsAre(testing::Pair(0, 0), testing::Pair(1, 1),
                                          testing::Pair(2, 0), testing::Pair(3, 1)));
}

// Four ranks begin an epoch, two continue it and one ends it. No row may be missing or used twice.
TEST(RowSampler, AnotherWorldContinuesAtTheSameRow) {
  for (const std::int64_t rows : {1, 30, 100, 257}) {
    EpochPosition position{3, 0};
    Rows used;
    for (const int ranks : {4, 2, 1}) {
      const RowSamplerOptions options{rows, 5, ranks, 3, 2};
      const RowSampler sampler(options);
      for (int step = 0; position.epoch == 3 && (step < 3 || ranks == 1); ++step) {
        for (int rank = 0; rank < ranks; ++rank) {
          for (const int micro_batch : {0, 1}) {
            const Rows more = sampler.rows({position, rank, micro_batch});
            used.insert(used.end(), more.begin(), more.end());
          }
        }
        position = sampler.after(position);
      }
    }
    EXPECT_EQ(position, (EpochPosition{4, 0}));
    std::sort(used.begin(), used.end());
    EXPECT_EQ(used, all_rows(rows));
  }
}

// docs/acceptance.md, Training: A part of an epoch ends with the step that uses its last row.
// docs/features.md, Loop and checkpoints: An end by epochs or parts of them, steps, time or score |
// `--epochs 2.5`, `--steps`, `--max-time`, `--target-score`
TEST(RowSampler, PartsOfAnEpochEndWithTheStepThatUsesTheirLastRow) {
  const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 1, .batch = 16});  // 7 steps
  EXPECT_EQ(sampler.steps_until(0.5, {}), 4);
  EXPECT_EQ(sampler.steps_until(0.16, {}), 1) << "exactly one step";
  EXPECT_EQ(sampler.steps_until(0.17, {}), 2);
  EXPECT_EQ(sampler.steps_until(0.001, {}), 1);
  EXPECT_EQ(sampler.steps_until(2.5, {}), 7 + 7 + 4);
  EXPECT_EQ(sampler.steps_until(2.5, {1, 32}), 5 + 4);
  EXPECT_EQ(sampler.steps_until(2.5, {2, 48}), 1);
  EXPECT_EQ(sampler.steps_until(2.5, {2, 64}), 0);
  EXPECT_EQ(sampler.steps_until(2.5, {3, 0}), -3);
  EXPECT_EQ(sampler.steps_until(0.99, {}), 7);
  EXPECT_EQ(sampler.steps_until(0.99, {1, 0}), 0) << "its last step ends the epoch";
  const RowSampler thirty({.rows = 30, .seed = 1, .ranks = 1, .batch = 1});
  EXPECT_EQ(thirty.steps_until(0.1, {}), 3) << "0.1 * 30 is a little more than 3";
}

// If the number of rows is a multiple of the rows per step, no empty step may follow the last one.
TEST(RowSampler, AnEpochOfWholeStepsEndsWithTheLast) {
  const RowSampler sampler({.rows = 24, .seed = 1, .ranks = 2, .batch = 4});
  ASSERT_EQ(sampler.steps_per_epoch(), 3);
  EXPECT_EQ(sampler.after({5, 0}), (EpochPosition{5, 8}));
  EXPECT_EQ(sampler.after({5, 8}), (EpochPosition{5, 16}));
  EXPECT_EQ(sampler.after({5, 16}), (EpochPosition{6, 0}));
  const RowSampler one_step({.rows = 8, .seed = 1, .ranks = 2, .batch = 4});
  EXPECT_EQ(one_step.after({0, 0}), (EpochPosition{1, 0}));
}

TEST(RowSampler, CountsTheStepsThatAreLeft) {
  const RowSampler sampler({.rows = 100, .seed = 1, .ranks = 2, .batch = 8});
  EXPECT_EQ(sampler.steps_until(3, {}), 3 * 7);
  EXPECT_EQ(sampler.steps_until(3, {1, 16}), 6 + 7);
  EXPECT_EQ(sampler.steps_until(3, {1, 10}), 6 + 7);  // a world of another size stopped there
  EXPECT_EQ(sampler.steps_until(3, {3, 0}), 0);
  EXPECT_LT(sampler.steps_until(3, {3, 16}), 0);
  EpochPosition position{1, 10};
  for (std::int64_t left = sampler.steps_until(3, position); left > 0; --left) {
    position = sampler.after(position);
    EXPECT_EQ(sampler.steps_until(3, position), left - 1);
  }
  EXPECT_EQ(position, (EpochPosition{3, 0}));
}

// fairseq's list of update frequencies came into force an epoch too late.
TEST(RowSampler, AListPerEpochIsNotShiftedByOne) {
  const RowSampler sampler({.rows = 100,
                            .seed = 1,
                            .ranks = 2,
                            .batch = 5,
                            .micro_batches = PerEpoch(std::vector{1, 2, 4})});
  EXPECT_EQ(sampler.after({0, 0}).used, 10);
  EXPECT_EQ(sampler.after({1, 0}).used, 20);
  EXPECT_EQ(sampler.after({2, 0}).used, 40);
  EXPECT_EQ(sampler.after({9, 0}).used, 40) << "the last one stays";
  EXPECT_EQ(sampler.steps_until(4, {}), 10 + 5 + 3 + 3);
  EXPECT_EQ(sampler.steps_until(4, {1, 60}), 2 + 3 + 3);
  EXPECT_EQ(sampler.steps_before({2, 0}), 15);
  EXPECT_EQ(sampler.steps_before({2, 20}), 15.5) << "between two steps";
  EXPECT_EQ(sampler.step({1, 80}).size(), 4U);
}

TEST(RowSampler, SaysWhatIsWrongWithItsOptions) {
  try {
    const RowSampler sampler({.rows = 5, .seed = 1, .ranks = 0});
    FAIL() << "the sampler took invalid options";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.what(),
                testing::HasSubstr("rows must be 0 or more, ranks, batch and micro_batches 1 or "
                                   "more, but they are 5, 0, 1 and 1"));
  }
}

TEST(RowSampler, RefusesEachOptionThatIsTooSmall) {
  EXPECT_THROW(RowSampler({.rows = -1}), Error);
  EXPECT_THROW(RowSampler({.rows = 1, .ranks = 0}), Error);
  EXPECT_THROW(RowSampler({.rows = 1, .batch = 0}), Error);
  EXPECT_THROW(RowSampler({.rows = 1, .micro_batches = 0}), Error);
  EXPECT_EQ(RowSampler({.rows = 0}).steps_per_epoch(), 0);
}

TEST(Permutation, IsABijectionForEverySize) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 31, 63, 64, 65, 127, 1000, 4096, 4097}) {
    Rows order = epoch_order(rows, 3, 0);
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order, all_rows(rows));
  }
}

TEST(Permutation, IsTheSameInEveryRelease) {
  // Resumed runs rely on this. The function returned these numbers when it was written.
  EXPECT_EQ(epoch_order(10, 1, 0), (Rows{7, 6, 0, 8, 9, 5, 1, 3, 2, 4}));
  EXPECT_EQ(permuted(123456, 1000000007, 42, 3), 261126266);
}

TEST(Permutation, ChangesWithSeedAndEpoch) {
  const Rows order = epoch_order(100, 1, 0);
  EXPECT_NE(order, epoch_order(100, 2, 0));
  EXPECT_NE(order, epoch_order(100, 1, 1));
  EXPECT_NE(epoch_order(100, 2, 0), epoch_order(100, 1, 1));
}

// Pearson's chi-square statistic of counts that should all be `expected`.
double chi_square(const std::vector<int>& counts, double expected) {
  double sum = 0;
  for (const int count : counts) {
    sum += (count - expected) * (count - expected) / expected;
  }
  return sum;
}

TEST(Permutation, EveryOrderOfFourRowsIsEquallyLikely) {
  std::map<Rows, int> seen;
  for (std::uint64_t seed = 0; seed < 4800; ++seed) {
    ++seen[epoch_order(4, seed, 0)];
  }
  ASSERT_EQ(seen.size(), 24U);
  std::vector<int> counts;
  for (const auto& [order, count] : seen) {
    counts.push_back(count);
  }
  EXPECT_LT(chi_square(counts, 200), 49.7);  // 23 degrees of freedom, p = 0.001
}

TEST(Permutation, EveryPositionAndEveryNeighbourIsEquallyLikely) {
  constexpr std::int64_t kRows = 50;
  std::vector<int> position_of_first(kRows);
  std::vector<int> step_between_neighbours(kRows);
  for (std::int64_t epoch = 0; epoch < 5000; ++epoch) {
    const Rows order = epoch_order(kRows, 11, epoch);
    ++position_of_first[static_cast<std::size_t>(std::find(order.begin(), order.end(), 0) -
                                                 order.begin())];
    ++step_between_neighbours[static_cast<std::size_t>((order[1] - order[0] + kRows) % kRows)];
  }
  EXPECT_LT(chi_square(position_of_first, 100), 85.4);  // 49 degrees of freedom, p = 0.001
  // A row is never its own neighbour.
  step_between_neighbours.erase(step_between_neighbours.begin());
  EXPECT_LT(chi_square(step_between_neighbours, 5000.0 / 49), 84.0);  // 48 degrees of freedom
}

}  // namespace
}  // namespace bp::trainer

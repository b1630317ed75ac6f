// Batches of a number of tokens: how many samples a step takes, and how ranks share them.
#include "trainer/batches/token_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include "bp/error.h"
#include "trainer/batches/row_sampler.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;
using Rows = std::vector<std::int64_t>;

TEST(TokenBatches, AStepFillsOneMicroBatchAfterTheOther) {
  const std::vector<std::int64_t> lengths = {6, 4, 1, 9, 5, 5, 10, 2};
  const auto take = [&](std::int64_t parts, std::int64_t from) {
    return samples_of_step({10, parts}, std::ssize(lengths) - from, [&](std::int64_t i) {
      return lengths[static_cast<std::size_t>(from + i)];
    });
  };
  EXPECT_EQ(take(1, 0), 2) << "6 4";
  EXPECT_EQ(take(2, 0), 4) << "6 4 | 1 9";
  EXPECT_EQ(take(1, 1), 2) << "4 1, and 9 does not fit";
  EXPECT_EQ(take(4, 0), 7);
  EXPECT_EQ(take(9, 0), 8) << "all there is";
}

TEST(TokenBatches, ThePartsAreAsEvenAsPossible) {
  const auto divide = [](std::int64_t parts, const std::vector<std::int64_t>& lengths) {
    return balanced_parts({100, parts}, lengths);
  };
  EXPECT_THAT(divide(2, {60, 40, 10, 20}), ElementsAre(1, 4)) << "60 and 70, not 100 and 30";
  EXPECT_THAT(divide(3, {5, 5, 5, 5, 5, 5}), ElementsAre(2, 4, 6));
  EXPECT_THAT(divide(4, {7, 7}), ElementsAre(1, 2, 2, 2));
  EXPECT_THAT(divide(2, {}), ElementsAre(0, 0));
}

TEST(TokenBatches, APartHasAsManyTokensAsItsWeightSays) {
  const auto divide = [](const std::vector<double>& weights, const Rows& lengths) {
    return weighted_parts(weights, lengths);
  };
  EXPECT_THAT(divide({3, 1}, {10, 10, 10, 10}), ElementsAre(3, 4));
  EXPECT_THAT(divide({1, 1}, {9, 1, 1, 1}), ElementsAre(1, 4));
  EXPECT_THAT(divide({0, 2, 0, 1, 0}, {3, 3, 3}), ElementsAre(0, 2, 2, 3, 3));
  EXPECT_THAT(divide({1, 2}, {}), ElementsAre(0, 0));
}

TEST(TokenBatches, ThereMayBeAsFewPartsAsHoldTheSamples) {
  const auto divide = [](const Rows& lengths) { return balanced_parts({10, 0}, lengths); };
  EXPECT_THAT(divide({6, 4, 1, 9, 5}), ElementsAre(2, 4, 5));
  EXPECT_THAT(divide({8, 1, 1, 8, 1}), ElementsAre(3, 5)) << "10 and 9";
  EXPECT_THAT(divide({}), ElementsAre(0));
}

TEST(TokenBatches, DealtPartsHaveTheirNumbersOfSamplesAndAboutTheSameTokens) {
  const auto deal = [](const Rows& counts, const Rows& lengths) {
    return deal_by_tokens(counts, lengths);
  };
  EXPECT_THAT(deal({2, 2}, {10, 1, 9, 2}), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(deal({2, 2}, {5, 5, 5, 5}), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(deal({3, 1, 0}, {4, 4, 1, 1}),
              ElementsAre(ElementsAre(0, 2, 3), ElementsAre(1), ElementsAre()));
  EXPECT_THAT(deal({0, 0}, {}), ElementsAre(ElementsAre(), ElementsAre()));
}

// Row r has r * r % 61 + 3 tokens: 3 to 63.
Lengths lengths_of(std::int64_t rows) {
  auto lengths = std::make_shared<std::vector<std::int32_t>>();
  for (std::int64_t row = 0; row < rows; ++row) {
    lengths->push_back(static_cast<std::int32_t>(row * row % 61 + 3));
  }
  return lengths;
}

RowSamplerOptions by_tokens(std::int64_t rows, int ranks, int micro_batches) {
  return {.rows = rows,
          .seed = 5,
          .ranks = ranks,
          .micro_batches = micro_batches,
          .max_tokens = 128,
          .lengths = lengths_of(rows)};
}

std::int64_t tokens_of(const Rows& rows, const Lengths& lengths) {
  return std::transform_reduce(
      rows.begin(), rows.end(), std::int64_t{0}, std::plus<>(),
      [&](std::int64_t row) { return (*lengths)[static_cast<std::size_t>(row)]; });
}

// Returns the rows of an epoch, step by step.
std::vector<Rows> steps_of(const RowSamplerOptions& options) {
  const RowSampler sampler(options);
  std::vector<Rows> steps;
  for (EpochPosition at{2, 0}; at.epoch == 2; at = sampler.after(at)) {
    Rows& of_step = steps.emplace_back();
    std::int64_t most = 0;
    const std::vector<Rows> parts = sampler.step(at);
    EXPECT_EQ(std::ssize(parts), options.ranks * options.micro_batches.first());
    for (std::size_t part = 0; part < parts.size(); ++part) {
      most = std::max(most, tokens_of(parts[part], options.lengths));
      of_step.insert(of_step.end(), parts[part].begin(), parts[part].end());
      const int micro_batches = options.micro_batches.first();
      const RowSampler::Place place{at, static_cast<int>(part) / micro_batches,
                                    static_cast<int>(part) % micro_batches};
      EXPECT_EQ(sampler.rows(place), parts[part]);
    }
    EXPECT_LE(most, options.max_tokens);
    EXPECT_FALSE(of_step.empty());
  }
  EXPECT_EQ(std::ssize(steps), sampler.steps_per_epoch(2));
  return steps;
}

// docs/features.md, Splits and batches: Batches of at most N tokens | `--max-tokens`
TEST(SamplerByTokens, UsesEveryRowOncePerEpochAndNeverMoreTokensThanAllowed) {
  for (const std::int64_t rows : {1, 2, 65, 257}) {
    for (const auto& [ranks, micro_batches] : {std::pair{1, 1}, {3, 1}, {4, 2}}) {
      Rows used;
      for (const Rows& step : steps_of(by_tokens(rows, ranks, micro_batches))) {
        used.insert(used.end(), step.begin(), step.end());
      }
      std::ranges::sort(used);
      Rows all(static_cast<std::size_t>(rows));
      std::iota(all.begin(), all.end(), 0);
      ASSERT_EQ(used, all) << rows << " rows, " << ranks << " ranks";
    }
  }
}

TEST(SamplerByTokens, TheRowsOfAStepDependOnlyOnTheNumberOfMicroBatchesOfAllRanks) {
  const auto alone = steps_of(by_tokens(300, 1, 4));
  EXPECT_GT(alone.size(), 10U);
  EXPECT_EQ(steps_of(by_tokens(300, 4, 1)), alone);
  EXPECT_EQ(steps_of(by_tokens(300, 2, 2)), alone);
}

TEST(SamplerByTokens, CountsTheStepsThatAreLeftFromAnyRow) {
  const RowSampler sampler(by_tokens(300, 2, 1));
  for (EpochPosition at : {EpochPosition{}, EpochPosition{1, 17}}) {
    for (std::int64_t left = sampler.steps_until(2.5, at); left > 0; --left) {
      EXPECT_LT(at, (EpochPosition{2, 150}));
      at = sampler.after(at);
      EXPECT_EQ(sampler.steps_until(2.5, at), left - 1);
    }
    EXPECT_GE(at, (EpochPosition{2, 150}));
  }
  EXPECT_LT(sampler.steps_until(1, {2, 100}), 0);
  EXPECT_EQ(sampler.steps_before({1, 0}), static_cast<double>(sampler.steps_per_epoch(0)));
  EXPECT_EQ(sampler.steps_before({1, 150}),
            static_cast<double>(sampler.steps_per_epoch(0)) +
                static_cast<double>(sampler.steps_per_epoch(1)) / 2);
}

// How many samples have lengths of 0, `unit`, 2 * `unit`, ...: those of a store, by
// select length(tokens) / 4 / unit, count(*) from train_samples group by 1
// after bert_train prep DATA --split 1,0,0 --vocab (that of bert-base-uncased).
struct LengthCounts {
  int unit;
  std::vector<int> counts;

  [[nodiscard]] Lengths lengths() const {
    auto all = std::make_shared<std::vector<std::int32_t>>();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      all->insert(all->end(), static_cast<std::size_t>(counts[i]), static_cast<int>(i) * unit);
    }
    return all;
  }
};

const LengthCounts kSst2 = {
    1, {0,    0,    0,    1978, 5322, 6065, 5345, 4749, 4155, 3713, 3267, 2947, 2650, 2413,
        2138, 1950, 1777, 1661, 1515, 1373, 1285, 1132, 1106, 1046, 909,  820,  806,  733,
        692,  628,  538,  491,  442,  448,  400,  337,  304,  286,  242,  195,  203,  192,
        155,  148,  130,  89,   82,   85,   73,   55,   42,   50,   40,   36,   19,   21,
        22,   15,   8,    6,    3,    2,    5,    5,    1,    2,    2}};
const LengthCounts kGap = {8,
                           {0,   1,   2,   7,  28, 54, 67, 161, 327, 553, 592, 586, 510, 448, 293,
                            275, 174, 107, 78, 60, 40, 23, 17,  8,   9,   5,   2,   6,   3,   4,
                            4,   2,   2,   0,  0,  1,  2,  0,   0,   0,   0,   1,   0,   1,   1}};

// docs/acceptance.md, Unequal machines: Ranks with equal shares have about the same number of
// tokens in each step of SST-2 and of GAP.
TEST(RowSampler, NoRankHasManyMoreTokensThanTheMean) {
  for (const LengthCounts& data : {kSst2, kGap}) {
    const Lengths lengths = data.lengths();
    for (const int ranks : {2, 4}) {
      for (const int batch : {32, 64}) {
        const RowSampler sampler({.rows = std::ssize(*lengths),
                                  .seed = 7,
                                  .ranks = ranks,
                                  .batch = batch,
                                  .balanced = true,
                                  .lengths = lengths});
        double worst = 0;
        for (EpochPosition at; at.used + sampler.step_rows() <= sampler.rows() && at.epoch == 0;
             at = sampler.after(at)) {
          std::int64_t all = 0;
          std::int64_t most = 0;
          for (const Rows& part : sampler.step(at)) {
            std::int64_t tokens = 0;
            for (const std::int64_t row : part) {
              tokens += (*lengths)[static_cast<std::size_t>(row)];
            }
            all += tokens;
            most = std::max(most, tokens);
          }
          worst = std::max(worst, static_cast<double>(most * ranks) / static_cast<double>(all));
        }
        EXPECT_LT(worst, 1.05) << data.unit << ' ' << ranks << ' ' << batch;
        EXPECT_GE(worst, 1);
      }
    }
  }
}

// docs/acceptance.md, Unequal machines: With `--max-tokens` the tokens of a step are divided by
// shares, and no micro-batch is larger than allowed.
TEST(SamplerByTokens, UnequalRanksHaveTheirSharesOfTheTokens) {
  const RowSamplerOptions options = by_tokens(3000, 3, 2);
  const RowSampler sampler(options);
  const Rows shares = {4, 0, 2};
  for (EpochPosition at{2, 0}; at.epoch == 2; at = sampler.after(at)) {
    const auto ranks = sampler.step_by_rank(at, shares);
    ASSERT_EQ(ranks.size(), 3U);
    Rows tokens;
    Rows rows;
    for (const auto& rank : ranks) {
      tokens.push_back(0);
      for (const Rows& part : rank) {
        const std::int64_t own = tokens_of(part, options.lengths);
        EXPECT_LE(own, options.max_tokens);
        tokens.back() += own;
        rows.insert(rows.end(), part.begin(), part.end());
      }
    }
    Rows equal;
    for (const Rows& part : sampler.step(at)) equal.insert(equal.end(), part.begin(), part.end());
    EXPECT_EQ(rows, equal);
    EXPECT_NEAR(static_cast<double>(tokens[0]),
                2.0 / 3 * static_cast<double>(tokens[0] + tokens[2]), 32)
        << "half of the longest row";
    EXPECT_EQ(tokens[1], 0);
  }
}

TEST(SamplerByTokens, RefusesARowThatFitsNowhereAndMissingLengths) {
  RowSamplerOptions options = by_tokens(60, 1, 1);
  options.max_tokens = 50;
  EXPECT_THAT([&] { (void)RowSampler(options); },
              ThrowsMessage<Error>(::testing::HasSubstr("tokens, and a micro-batch at most 50")));
  options.lengths = nullptr;
  EXPECT_THAT([&] { (void)RowSampler(options); },
              ThrowsMessage<Error>(::testing::HasSubstr("need the length of each row")));
}

}  // namespace
}  // namespace bp::trainer

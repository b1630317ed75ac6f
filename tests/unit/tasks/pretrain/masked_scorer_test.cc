// The scores of a masked language model, and their rows.
#include "trainer/tasks/pretrain/masked_scorer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace bp::trainer {
namespace {

using testing::ElementsAre;

// Three samples, of which the second has no masked token.
Batch block() {
  Batch batch;
  batch.rows = 3;
  batch.arrays = {{.width = 2, .integers = {1, 4, 0, 0, 2, 0}, .sizes = {2, 0, 1}},
                  {.width = 2, .integers = {70, 80, 0, 0, 90, 0}, .sizes = {2, 0, 1}}};
  return batch;
}
const at::Tensor& outputs() {
  static const at::Tensor numbers = at::tensor({0.5F, 70.F, 1.5F, 7.F, 4.F, 90.F}).view({3, 2});
  return numbers;
}

TEST(MaskedScorer, IsTheMeanOverMaskedTokensAndNotOverSamples) {
  MaskedScorer scorer(3);
  scorer.add(block(), outputs());
  EXPECT_DOUBLE_EQ(scorer.summary().at("loss"), 2);
  EXPECT_DOUBLE_EQ(scorer.summary().at("perplexity"), std::exp(2));
  EXPECT_DOUBLE_EQ(scorer.summary().at("accuracy"), 2.0 / 3);
  EXPECT_THAT(scorer.lines("test", ""),
              ElementsAre("test: loss 2.0000, perplexity 7.389, 66.7 % of 3 masked tokens right, "
                          "3 samples"));
}

TEST(MaskedScorer, TheCountsOfRanksAddUpExactly) {
  MaskedScorer one(2);
  MaskedScorer two(2);
  MaskedScorer both(2);
  Batch batch = block();
  const at::Tensor small = at::full({3, 2}, 0.1F);
  one.add(batch, outputs());
  two.add(batch, small);
  both.add(batch, small);
  both.add(batch, outputs());
  for (std::size_t i = 0; i < one.counts().size(); ++i) one.counts()[i] += two.counts()[i];
  EXPECT_EQ(one.summary().scores, both.summary().scores);
}

TEST(MaskedScorer, ARowHasTheNumbersOfItsSample) {
  const MaskedScorer scorer(3);
  std::vector<float> kept;
  scorer.keep(block(), outputs(), kept);
  ASSERT_EQ(kept.size(), 9U);
  const auto fields = [&](std::size_t row) {
    std::vector<std::string> set;
    scorer.set_fields({}, std::span(kept).subspan(3 * row, 3), set);
    return set;
  };
  EXPECT_THAT(fields(0), ElementsAre("2", "1", "1"));
  EXPECT_THAT(fields(1), ElementsAre("0", "0", ""));
  EXPECT_THAT(fields(2), ElementsAre("1", "1", "4"));
}

TEST(MaskedScorer, WithoutMaskedTokensThereAreNoScores) {
  MaskedScorer scorer(1);
  EXPECT_TRUE(std::isnan(scorer.summary().at("loss")));
  EXPECT_TRUE(std::isnan(scorer.summary().at("accuracy")));
  EXPECT_THAT(scorer.lines("dev", ""), ElementsAre("dev: no token could be masked, 1 samples"));
}

}  // namespace
}  // namespace bp::trainer

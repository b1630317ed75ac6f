#include "trainer/report/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/scratch.h"
#include "trainer/report/metrics.h"
#include "trainer/report/summary.h"

namespace bp::trainer {
namespace {

TEST(Figures, AnEpochEndsWithAWholeNumber) {
  std::vector<EpochFigures> epochs;
  add(epochs, {{"kept", 1, 4}}, 0.5);
  add(epochs, {{"kept", 2, 4}, {"late", 6, 2}}, 1);
  add(epochs, {{"kept", 4, 4}}, 1.25);
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_EQ(epochs[0].epoch, 1);
  EXPECT_EQ(means_of(epochs[0].sums), (FigureMeans{{"kept", 0.375}, {"late", 3}}));
  EXPECT_EQ(epochs[1].epoch, 1.25);
  EXPECT_EQ(text_of(means_of(epochs[1].sums)), "kept 1.0000");
}

TEST(Figures, WithoutAWeightAreNotShown) { EXPECT_TRUE(means_of({{"kept", 3, 0}}).empty()); }

TEST(Figures, OfARecordSurviveTheFileAlsoIfNotFinite) {
  StepRecord record{.step = 1};
  record.figures = {{"kept", 0.25}, {"loss", -std::numeric_limits<double>::infinity()}};
  const std::string line = to_json_line(record);
  EXPECT_NE(line.find(R"("figures":{"kept":0.25,"loss":null})"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("not_finite":{"figures.loss":"-inf"})"), std::string::npos) << line;
  const Scratch folder;
  EXPECT_EQ(read_metrics(folder.write("metrics.jsonl", line)).steps.at(0).figures, record.figures);
}

TEST(Figures, OfEpochsAreInTheSummary) {
  RunSummary summary;
  EXPECT_EQ(to_json(summary).find("figures"), std::string::npos);
  summary.train.figures = {{1, {{"kept", 1, 4}}}, {1.5, {{"kept", std::nan(""), 4}}}};
  const RunSummary read = parse_summary(to_json(summary));
  ASSERT_EQ(read.train.figures.size(), 2U);
  EXPECT_EQ(means_of(read.train.figures[0].sums), (FigureMeans{{"kept", 0.25}}));
  EXPECT_EQ(read.train.figures[1].epoch, 1.5);
  EXPECT_TRUE(std::isnan(means_of(read.train.figures[1].sums)[0].second));
}

}  // namespace
}  // namespace bp::trainer

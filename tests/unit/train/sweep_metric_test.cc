#include "trainer/train/loop/sweep_metric.h"

#include <gtest/gtest.h>

#include "trainer/report/metrics.h"

namespace bp::trainer {
namespace {

TEST(SweepMetric, IsTheValueOfTheSplitThatItNames) {
  EvaluationRecord dev{.step = 7, .split = "dev"};
  dev.result.scores = {{"loss", 0.125}, {"f1_macro", 0.1}};
  const std::string record = to_json_line(dev);
  EXPECT_EQ(sweep_metric_line("dev_loss", record), "bp: metric 0.125 7\n");
  EXPECT_EQ(sweep_metric_line("dev_f1_macro", record), "bp: metric 0.1 7\n");
  EXPECT_EQ(sweep_metric_line("dev_f1", record), "");
  EXPECT_EQ(sweep_metric_line("test_loss", record), "");
  EXPECT_EQ(sweep_metric_line("", record), "");
  EXPECT_EQ(sweep_metric_line("train_loss", to_json_line(StepRecord{.step = 3, .loss = 2})),
            "bp: metric 2 3\n");
}

}  // namespace
}  // namespace bp::trainer

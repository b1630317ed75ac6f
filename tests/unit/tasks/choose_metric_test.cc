// The score that ranks the evaluations of a run.
// docs/acceptance.md, Training: Which score compares evaluations, and what ends a run early,
// follows stated rules.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/labelled_rows.h"
#include "tests/unit/data/input_refusal.h"
#include "trainer/tasks/classify/scores.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

// docs/features.md, Loop and checkpoints: The best weights, by a score of your choice |
// `--best-metric`, `--final best`
TEST(ChooseMetric, TakesTheFirstOrTheNamedOne) {
  const std::vector<MainScore> metrics = {{"accuracy", true}, {"loss", false}};
  EXPECT_EQ(choose_metric(metrics, "", "classify").key, "accuracy");
  EXPECT_EQ(choose_metric(metrics, "loss", "classify").key, "loss");
  EXPECT_FALSE(choose_metric(metrics, "loss", "classify").higher_is_better);
  EXPECT_EQ(
      test::input_refusal([&] { (void)choose_metric(metrics, "acuracy", "classify"); }),
      "2: --best-metric: 'acuracy' is not a score of the task classify, which has accuracy, loss "
      "| did you mean 'accuracy'?");
}

TEST(ChooseMetric, EveryScoreOfAClassifierIsInItsSummary) {
  const EvaluationSummary summary = summary_of(scores_of(Counts{{0, 1}, {0, 0}}), {.roc_auc = 0.5});
  EXPECT_EQ(class_metrics(false).size(), summary.scores.size());
  EXPECT_EQ(class_metrics(false).front().key, "accuracy");
  for (const MainScore& metric : class_metrics(false)) {
    EXPECT_FALSE(std::isnan(summary.at(metric.key))) << metric.key;
  }
  const LabelledRows rows = rows_of({"a", "b"}, {{true, false}}, {{true, true}});
  const EvaluationSummary several = summary_of(scores_of(rows, LossSum(true)));
  EXPECT_EQ(class_metrics(true).size(), several.scores.size());
  for (const MainScore& metric : class_metrics(true)) {
    EXPECT_FALSE(std::isnan(several.at(metric.key))) << metric.key;
  }
}

}  // namespace
}  // namespace bp::trainer

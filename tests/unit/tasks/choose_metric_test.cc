// The score that ranks the evaluations of a run.
#include "trainer/tasks/choose_metric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/data/input_refusal.h"
#include "trainer/tasks/classify/label_scores.h"
#include "trainer/tasks/classify/scores.h"

namespace bp::trainer {
namespace {

TEST(ChooseMetric, TakesTheFirstOrTheNamedOne) {
  const std::vector<MainScore> metrics = {{"accuracy", true}, {"loss", false}};
  EXPECT_EQ(choose_metric(metrics, "", "classify").key, "accuracy");
  EXPECT_EQ(choose_metric(metrics, "loss", "classify").key, "loss");
  EXPECT_FALSE(choose_metric(metrics, "loss", "classify").higher_is_better);
  EXPECT_EQ(
      test::input_refusal([&] { (void)choose_metric(metrics, "acuracy", "classify"); }),
      "2: --best-metric: 'acuracy' is no score of the task classify, which has accuracy, loss "
      "| did you mean 'accuracy'?");
}

TEST(ChooseMetric, EveryScoreOfAClassifierIsInItsSummary) {
  Tally tally(2);
  tally.add({0, 1, 0.5});
  const EvaluationSummary summary = summary_of(scores_of(tally), {.roc_auc = 0.5});
  EXPECT_EQ(class_metrics().size(), summary.scores.size());
  EXPECT_EQ(class_metrics().front().key, "accuracy");
  for (const MainScore& metric : class_metrics()) {
    EXPECT_FALSE(std::isnan(summary.at(metric.key))) << metric.key;
  }
  LabelTally labels(2);
  labels.add({{true, false}, {true, true}, 0.5});
  const EvaluationSummary several = summary_of(scores_of(labels));
  EXPECT_EQ(label_metrics().size(), several.scores.size());
  for (const MainScore& metric : label_metrics()) {
    EXPECT_FALSE(std::isnan(several.at(metric.key))) << metric.key;
  }
}

}  // namespace
}  // namespace bp::trainer

#include "trainer/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/report/chart.h"
#include "base/text.h"
#include "sample_report.h"
#include "trainer/tasks/classify/row_scorer.h"

namespace bp::trainer {
namespace {

using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// docs/features.md, Evaluation and reports: Charts of loss and scores | `report.html`
TEST(Report, ShowsWhatHappened) {
  const std::string page = render_report(sample_report());
  EXPECT_THAT(page, HasSubstr("<h1>reviews</h1>"));
  EXPECT_THAT(page, HasSubstr("classify with a tiny model, trained for 1,580 steps (3 epochs) on "
                              "4 ranks on 2 hosts."));
  EXPECT_THAT(page, HasSubstr("<dt>Accuracy</dt><dd>91.2 % <small>test</small>"));
  EXPECT_THAT(page, HasSubstr(">612<small>93.4%</small>"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">neutral &lt;&amp;&gt;</th><td>0.903</td>"));
  EXPECT_THAT(page, HasSubstr("ranks 0 to 2"));
  EXPECT_THAT(
      page,
      HasSubstr("this page: summary.json, predictions.csv, classes.csv and metrics.jsonl beside"));
  EXPECT_THAT(page, HasSubstr(R"(<td class="text">config file</td>)"));
  EXPECT_THAT(page, HasSubstr("Begun on 2026-11-24 03:02 UTC with bert_train 0.1.0; rank 0 has 2 "
                              "cores."));
  EXPECT_THAT(page, HasSubstr("Resumed at step 700 on 2026-11-25 03:02 UTC"));
  EXPECT_THAT(page, HasSubstr("Best dev accuracy: 0.7967 at step 1,580 (epoch 3)."));
  EXPECT_THAT(page, AllOf(HasSubstr(">resumed</span>"), HasSubstr(">best</span>")));
  EXPECT_THAT(page, HasSubstr("2 options with the default</summary>"));
  EXPECT_THAT(page, HasSubstr("communication that nothing hid: 6.2 ms (5.9%)"));
}

// The report once had a cell for each pair of labels, which made 65 MB for 1,000 labels.
// docs/acceptance.md, Runs: Reports of 1,000 labels stay readable.
TEST(Report, OfManyLabelsStaysReadable) {
  for (const int classes : {21, 100, 1000}) {
    const std::string page = render_report(sample_report_of(classes));
    EXPECT_LT(page.size(), 200'000U);
    const std::string all = classes == 1000 ? "1,000" : concat(classes);
    EXPECT_THAT(page, HasSubstr(concat("20 of ", all,
                                       " labels: those that were confused most. All: "
                                       "confusion.csv.")));
    EXPECT_THAT(page, HasSubstr(classes == 1000 ? "980 others" : concat(classes - 20, " others")));
    EXPECT_THAT(page, HasSubstr("<h2>Most frequent confusions, test split</h2>"));
    EXPECT_THAT(page, classes > 50 ? HasSubstr(concat("50 of ", all,
                                                      " labels: those with the lowest"
                                                      " F1. All: classes.csv."))
                                   : HasSubstr("<h2>Classes, test split</h2>"));
  }
  const std::string few = render_report(sample_report());
  EXPECT_THAT(few, AllOf(Not(HasSubstr("others")), Not(HasSubstr("Most frequent confusions"))));
}

TEST(Report, DrawsTheFiguresThatStepsReported) {
  const std::string page = render_report(sample_report());
  EXPECT_THAT(page, HasSubstr("<h3>kept_fraction</h3>"));
  EXPECT_THAT(page, HasSubstr("kept_fraction 0.8987 at first, 0.7 at last"));
}

TEST(Report, DrawsTheRowsOfRanksThatHaveUnequalShares) {
  Report report = sample_report();
  EXPECT_THAT(render_report(report), Not(HasSubstr("rows of a step")));
  for (StepRecord& record : report.metrics.steps) record.rows = {20, 12};
  const std::string page = render_report(report);
  EXPECT_THAT(page, AllOf(HasSubstr("rows of a step by rank, added up"),
                          HasSubstr("rank 0 20 at first, 20 at last"), HasSubstr("rank 1<")));
}

TEST(Report, FoldsTheTableOfParameters) {
  const std::string page = render_report(sample_report());
  EXPECT_THAT(page, HasSubstr("4,369,795 parameters, of which 396,931 are trained."));
  EXPECT_THAT(page, HasSubstr("<details><summary>of each part</summary>"));
  EXPECT_THAT(page, HasSubstr("<tr><th scope=\"row\">embeddings</th><td>3,972,864</td><td>0</td>"
                              "<td>3,972,864</td><td>&ndash;</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><th scope=\"row\">layer 0</th><td>198,272</td><td>198,272</td>"
                              "<td>0</td><td>0.9</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\">head &lt;&amp;&gt;</th>"));
}

TEST(Report, EscapesAllText) {
  const std::string page = render_report(sample_report());
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(&#39;out&#39;)"));
  EXPECT_THAT(page, Not(HasSubstr("alert('out')")));
  EXPECT_THAT(page, Not(HasSubstr("alert('in')")));
  EXPECT_THAT(page, HasSubstr("the rest is \xEF\xBF\xBD\xEF\xBF\xBD not UTF-8."));
  EXPECT_EQ(page.find('\xFF'), std::string::npos);
}

TEST(Report, LoadsNothingFromOtherPlaces) {
  const std::string page = render_report(sample_report());
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("http://")), Not(HasSubstr("https://")),
                          Not(HasSubstr("url(")), Not(HasSubstr("@import"))));
}

// A run that was stopped early has neither evaluations nor metrics, so the page must leave out
// those parts.
TEST(Report, OfAnUnfinishedRunLeavesOutMissingParts) {
  const std::string page = render_report({.title = "<early>"});
  EXPECT_THAT(page, HasSubstr("<h1>&lt;early&gt;</h1>"));
  EXPECT_THAT(page, Not(HasSubstr("<h2>")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

TEST(RowScorer, NamesTheRowsWithTheHighestLosses) {
  std::vector<float> shares;
  LabelledRows rows{.labels = {"a", "b"}};
  for (std::size_t i = 0; i < kMostErrorRows + 4; ++i) {
    const float first[] = {0.25F, 0.125F, 0.25F, 1};
    const float share = i < 4 ? first[i] : 0.75F;
    shares.insert(shares.end(), {share, 1 - share});
    const int answer = 0;
    rows.answers.add(std::span(&answer, 1));
    rows.predictions.add(std::span(&answer, 1));
  }
  rows.shares = shares;
  const RowScorer scorer(rows, LossSum(false));
  const std::vector<ErrorRow> worst =
      scorer
          .errors(
              "test", 0,
              [](std::size_t row) { return ErrorRow{.sample_id = static_cast<std::int64_t>(row)}; })
          .rows;
  ASSERT_EQ(worst.size(), kMostErrorRows);
  EXPECT_EQ(worst[0].sample_id, 1);
  EXPECT_EQ(worst[0].facts, "probability of the true label 0.125, loss 2.08");
  EXPECT_EQ(worst[1].sample_id, 0) << "of equal ones, the first";
  EXPECT_EQ(worst[2].sample_id, 2);
  EXPECT_EQ(worst[3].sample_id, 4);
  EXPECT_EQ(worst.back().sample_id, 20);
}

TEST(Chart, TicksAreRound) {
  EXPECT_THAT(round_ticks({.low = 0, .high = 1580}, 4), ElementsAre(0, 500, 1000, 1500));
  EXPECT_THAT(round_ticks({.low = 0.11, .high = 0.72}, 4),
              ElementsAre(DoubleEq(0.2), DoubleEq(0.4), DoubleEq(0.6000000000000001)));
  EXPECT_THAT(round_ticks({.low = 7, .high = 8}, 1), ElementsAre(7, 8));
  EXPECT_THAT(round_ticks({.low = 0.1, .high = 0.98}, 4), ElementsAre(0.25, 0.5, 0.75));
}

TEST(Chart, TicksEndThoughAStepDoesNotChangeTheirNumbers) {
  EXPECT_LE(round_ticks({.low = -1, .high = std::nextafter(-1.0, 0.0)}, 4).size(), 5U);
}

TEST(Chart, BreaksTheLineWhereAValueIsNotFinite) {
  const std::string page =
      render_chart({.series = {{.name = "loss", .x = {0, 1, 2, 3}, .y = {1, std::nan(""), 1, 1}}}});
  EXPECT_THAT(page, HasSubstr(" d=\"M0.0 500.0M666.7 500.0L1000.0 500.0\""));
  EXPECT_THAT(page, HasSubstr("data-x=\"0 1 2 3\" data-y=\"1 nan 1 1\""));
}

TEST(Settings, AreFoundByTheirKey) {
  const std::vector<Setting> settings = {{"lr", "0.001", "default"}, {"run", "r", ""}};
  EXPECT_EQ(value_of(settings, "run"), "r");
  EXPECT_EQ(value_of(settings, "seed"), "");
}

TEST(Chart, SaysThatThereIsNothingToDraw) {
  EXPECT_EQ(render_chart({.title = "loss", .series = {{.name = "a", .x = {1}, .y = {NAN}}}}),
            "<figure><p class=\"quiet\">loss: no values to draw.</p></figure>");
}

TEST(Chart, DrawsLongSeriesAsMeansOfNeighbours) {
  Series series{.name = "loss"};
  for (int i = 0; i < 100'000; ++i) {
    series.x.push_back(i);
    series.y.push_back(i % 2);
  }
  const std::string page = render_chart({.series = {series}});
  EXPECT_LT(page.size(), 100'000U);
  EXPECT_THAT(page, HasSubstr("data-to=\"99999.000000\""));
}

}  // namespace
}  // namespace bp::trainer

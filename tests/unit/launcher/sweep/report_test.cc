#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "launcher/sweep/report/importance.h"
#include "launcher/sweep/report/plot_axis.h"
#include "launcher/sweep/report/sweep_page.h"
#include "launcher/sweep/sampling/random.h"

namespace bp::launcher::sweep {
namespace {

using testing::ElementsAre;

TrialRecord trial_of(int number, Parameters parameters, double result) {
  TrialRecord trial{.number = number, .state = TrialState::finished};
  trial.parameters = std::move(parameters);
  trial.result = result;
  return trial;
}

// HasSubstr would print the whole page.
bool has(const std::string& html, const std::string& text) {
  return html.find(text) != std::string::npos;
}

std::vector<int> numbers_of(const std::vector<TrialRecord>& trials) {
  std::vector<int> numbers;
  for (const TrialRecord& trial : trials) numbers.push_back(trial.number);
  return numbers;
}

TEST(SweepPage, PutsTheBestFirst) {
  std::vector<TrialRecord> trials;
  for (const double result : {0.2, 0.9, std::nan(""), 0.9}) {
    trials.push_back(trial_of(static_cast<int>(trials.size()), {}, result));
  }
  trials.push_back({.number = 4});
  sort_trials(trials, Direction::max);
  EXPECT_THAT(numbers_of(trials), ElementsAre(1, 3, 0, 2, 4));
  sort_trials(trials, Direction::min);
  EXPECT_THAT(numbers_of(trials), ElementsAre(0, 1, 3, 2, 4));
}

// y = 3 a + noise of a fixed pattern; b decides nothing, and c is there for half of the trials.
std::vector<TrialRecord> trials_of_a_line(int count) {
  std::vector<TrialRecord> trials;
  for (int i = 0; i < count; ++i) {
    const double a = i * 37 % count;
    Parameters parameters{{"b", Value::of_integer(i * 11 % 7)},
                          {"a", Value::of_real(a)},
                          {"kind", Value::of_text(i % 2 == 0 ? "x" : "y")}};
    if (i % 2 == 0) parameters.emplace_back("c", Value::of_integer(i % 3));
    trials.push_back(trial_of(i, parameters, 3 * a + i % 5));
  }
  return trials;
}

TEST(SweepImportance, FindsTheParameterThatDecides) {
  const Importances found = importances_of(trials_of_a_line(60));
  ASSERT_EQ(found.parameters.size(), 4U);
  EXPECT_EQ(found.parameters[0].name, "a");
  EXPECT_GT(found.parameters[0].share, 0.8);
  EXPECT_GT(found.explained, 0.8);
  double sum = 0;
  for (const Importance& one : found.parameters) sum += one.share;
  EXPECT_NEAR(sum, 1, 1e-12);
}

TEST(SweepImportance, FindsACategoryThatDecides) {
  std::vector<TrialRecord> trials = trials_of_a_line(60);
  for (TrialRecord& trial : trials) {
    trial.result = find_value(trial.parameters, "kind")->text() == "x" ? 1 : 0;
  }
  const Importances found = importances_of(trials);
  // Whether c is there says the same.
  ASSERT_GE(found.parameters.size(), 2U);
  EXPECT_GT(found.parameters[0].share + found.parameters[1].share, 0.95);
  EXPECT_NE(found.parameters[0].name, "a");
  EXPECT_NE(found.parameters[0].name, "b");
}

TEST(SweepImportance, SaysThatNoiseExplainsNothing) {
  std::vector<TrialRecord> trials = trials_of_a_line(60);
  Random random(1, 2, 3);
  for (TrialRecord& trial : trials) trial.result = random.uniform();
  EXPECT_LT(importances_of(trials).explained, 0.3);
}

TEST(SweepImportance, NeedsSomeTrialsThatDiffer) {
  EXPECT_TRUE(importances_of(trials_of_a_line(7)).parameters.empty());
  auto equal = trials_of_a_line(20);
  for (TrialRecord& trial : equal) trial.result = 1;
  EXPECT_TRUE(importances_of(equal).parameters.empty());
  equal[0].result = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(importances_of(equal).parameters.empty());
}

TEST(SweepPlotAxis, TakesALogarithmForManyMagnitudes) {
  std::vector<TrialRecord> trials;
  for (int i = 0; i < 9; ++i) {
    trials.push_back(trial_of(i, {{"lr", Value::of_real(std::pow(10.0, i - 8))}}, i));
  }
  const PlotAxis axis = PlotAxis::of_parameter(trials, "lr");
  const Value middle = Value::of_real(1e-4);
  EXPECT_NEAR(axis.position(&middle).value(), 0.5, 1e-9);
  for (const auto& [at, text] : axis.ticks()) EXPECT_TRUE(at >= 0 && at <= 1) << text;
  std::vector<std::string> texts;
  for (const auto& [at, text] : PlotAxis::of_numbers({0, 59}, false).ticks()) texts.push_back(text);
  EXPECT_THAT(texts, ElementsAre("0", "20", "40", "60")) << "not -0";
  EXPECT_FALSE(axis.position(nullptr).has_value());
}

TEST(SweepPlotAxis, GivesFewValuesAPlaceEach) {
  std::vector<TrialRecord> trials;
  for (const int batch : {16, 4, 8, 4}) {
    trials.push_back(trial_of(0, {{"batch", Value::of_integer(batch)}}, 0));
  }
  const PlotAxis axis = PlotAxis::of_parameter(trials, "batch");
  std::vector<std::string> texts;
  for (const auto& [at, text] : axis.ticks()) texts.push_back(text);
  EXPECT_THAT(texts, ElementsAre("4", "8", "16"));
  const PlotAxis one = PlotAxis::of_numbers({5}, false);
  EXPECT_NEAR(one.position(5.0), 0.5, 1e-9) << "a single value has an axis too";
}

PageData page_of(std::vector<TrialRecord> trials) {
  PageData page{.name = "sweeps/x", .metric = "dev_accuracy"};
  page.trials = std::move(trials);
  sort_trials(page.trials, page.direction);
  return page;
}

// docs/features.md, Searches: The best result, while the search runs | `bprun sweep status`,
// `report`; `bert_train runs --sort`
TEST(SweepPage, HasASectionForEachQuestion) {
  PageData page = page_of(trials_of_a_line(20));
  page.reports = {{{10, 0.5}, {20, 0.75}}};
  const std::string html = sweep_page(page);
  for (const char* title : {"Best trial", "Learning curves", "Importance of the parameters",
                            "Parallel coordinates", "Parameters and results", "Trials"}) {
    EXPECT_TRUE(has(html, std::string("<h2>") + title + "</h2>"));
  }
  EXPECT_FALSE(has(html, "://")) << "it must need nothing from elsewhere";
  EXPECT_FALSE(has(html, ">nan"));
}

TEST(SweepPage, LeavesOutWhatItCannotShow) {
  EXPECT_FALSE(has(sweep_page(page_of({})), "Learning curves"));
  const std::string one = sweep_page(page_of({{.number = 0, .state = TrialState::running}}));
  EXPECT_FALSE(has(one, "Best trial"));
  EXPECT_TRUE(has(one, "<dt>running</dt><dd>1</dd>"));
}

TEST(SweepPage, EscapesWhatUsersWrote) {
  auto trials = trials_of_a_line(10);
  trials[0].parameters.emplace_back("<b>", Value::of_text("</script><img src=x>\"&\n"));
  trials[1].reason = "<i>lost</i>";
  const std::string html = sweep_page(page_of(trials));
  for (const char* raw : {"<b></th>", "<img", "<i>lost"}) EXPECT_FALSE(has(html, raw));
  EXPECT_TRUE(has(html, "&lt;/script&gt;&lt;img src=x&gt;&quot;&amp; "));
}

TEST(SweepPage, StaysSmallWithManyTrials) {
  std::vector<TrialRecord> trials;
  for (int i = 0; i < 20000; ++i) {
    trials.push_back(trial_of(i, {{"x", Value::of_integer(i)}}, i % 1000));
  }
  const std::string html = sweep_page(page_of(std::move(trials)));
  EXPECT_LT(html.size(), 2U << 20);
  EXPECT_TRUE(has(html, "The best 2000 of 20000 trials"));
}

}  // namespace
}  // namespace bp::launcher::sweep

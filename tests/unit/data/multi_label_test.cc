// Rows with any number of labels: --multi-label.
// docs/acceptance.md, Data: A row with several labels has each of them once.
#include <string>
#include <vector>

#include "tests/unit/data/prepare_fixture.h"
#include "trainer/model/config.h"
#include "trainer/prepare/data_check.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/classify/class_config.h"

namespace bp::trainer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class MultiLabel : public PrepareTest {
 protected:
  PrepareOptions of(const std::string& rows, std::vector<std::string> arguments = {}) {
    arguments.emplace_back("--multi-label");
    PrepareOptions with = options(scratch_.write("r.csv", "text,label\n" + rows));
    with.task = classify(arguments);
    with.split = {1, 0, 0};
    with.rebuild = true;
    return with;
  }
  SampleStore store(const PrepareOptions& with) { return SampleStore::open(run(with).store); }
  // The labels of each row, in the rows' order: "joy fear".
  static std::vector<std::string> labels(const SampleStore& store, Split split = Split::train) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < store.size(split); ++i) {
      std::string names;
      const Sample sample = store.load(split, i);
      for (const std::int64_t label : sample.arrays[0].integers) {
        names += (names.empty() ? "" : " ") + store.names()[static_cast<std::size_t>(label)];
      }
      all.push_back(names);
    }
    return all;
  }
};

TEST_F(MultiLabel, ARowHasEachOfItsLabelsOnce) {
  const SampleStore made = store(of("a,joy|fear\nb,\nc, fear | joy |fear||\nd,food\n"));
  EXPECT_THAT(made.names(), ElementsAre("fear", "food", "joy"));
  EXPECT_THAT(labels(made), ElementsAre("fear joy", "", "fear joy", "food"));
  EXPECT_THAT(messages_, Not(Contains(HasSubstr("more than one label"))));
}

TEST_F(MultiLabel, TheSeparatorIsAnOption) {
  EXPECT_THAT(labels(store(of("a,joy;fear\n", {"--label-separator", "semicolon"}))),
              ElementsAre("fear joy"));
  EXPECT_THAT(labels(store(of("a,\"joy, fear\"\n", {"--label-separator", "comma"}))),
              ElementsAre("fear joy"));
  EXPECT_THAT(labels(store(of("a,joy  fear\n", {"--label-separator", "space"}))),
              ElementsAre("fear joy"));
  expect_input_error(2, "--label-separator: 'semicolo' is none of bar|comma|semicolon|space|tab",
                     "did you mean 'semicolon'?", [] {
                       (void)classify({"--label-separator", "semicolo"});
                     });
}

TEST_F(MultiLabel, JsonLinesMayHaveAnArray) {
  PrepareOptions with = of("");
  with.source = scratch_.write("r.jsonl",
                               "{\"text\": \"a\", \"label\": [\"joy\", \"fear\"]}\n"
                               "{\"text\": \"b\", \"label\": []}\n"
                               "{\"text\": \"c\", \"label\": \"joy|food\"}\n");
  EXPECT_THAT(labels(store(with)), ElementsAre("fear joy", "", "food joy"));
  with.task = classify();
  expect_refused(with, 65, "r.jsonl, row 1 (line 1): key 'label' is an array",
                 "--multi-label gives a row several labels");
}

TEST_F(MultiLabel, AnotherSeparatorIsNoticed) {
  (void)run(of("a,joy;fear\nb,joy\n"));
  EXPECT_THAT(messages_, Contains("no row has more than one label; --label-separator semicolon "
                                  "--rebuild divides labels such as 'joy;fear'"));
  messages_.clear();
  (void)run(of("a,joy\nb,fear\n"));
  EXPECT_THAT(messages_, Contains("no row has more than one label; without --multi-label the model "
                                  "gives each text exactly one"));
}

TEST_F(MultiLabel, LabelsThatConsistOfOthersAreNoticedWithoutIt) {
  PrepareOptions with = of("a,joy|fear\nb,joy\nc,fear\nd,yes|no\n");
  with.task = classify();
  (void)run(with);
  EXPECT_THAT(messages_, Contains("the label 'joy|fear' consists of other labels, and is a class "
                                  "by itself; --multi-label --label-separator bar --rebuild gives "
                                  "a row several"));
  messages_.clear();
  with = of("a,yes|no\nb,no\n");
  with.task = classify();
  (void)run(with);
  EXPECT_THAT(messages_, Not(Contains(HasSubstr("consists of"))));
}

TEST_F(MultiLabel, ManyLabelsAreThoseOfManyRows) {
  std::string rows;
  for (int i = 0; i < 1500; ++i) rows += concat("a,k", i % 1200, "|k", (i * 7 + 1) % 1200, '\n');
  EXPECT_EQ(store(of(rows)).names().size(), 1200U);
  std::string texts;
  for (int i = 0; i < 1500; ++i) texts += concat("a,free text ", i, "|or that ", i, '\n');
  expect_refused(of(texts), 65, "r.csv has 3000 different labels in 1500 rows",
                 "may have something else between its labels: --label-separator; else name the "
                 "right one with --label, or list the labels with --label-map FILE");
}

TEST_F(MultiLabel, OneLabelIsEnough) {
  EXPECT_THAT(labels(store(of("a,spam\nb,\n", {"--labels", "spam"}))), ElementsAre("spam", ""));
}

TEST_F(MultiLabel, AnUnknownLabelIsRefusedOrItsRowLeftOut) {
  const std::string rows = "a,joy|fear\nb,joy|faer\n";
  expect_refused(of(rows, {"--labels", "joy,fear"}), 65,
                 "r.csv, row 2 (line 3): label 'faer' is not among those of --labels: joy, fear",
                 "did you mean 'fear'?");
  EXPECT_THAT(labels(store(of(rows, {"--labels", "joy,fear", "--unknown-labels", "skip"}))),
              ElementsAre("joy fear"));
}

TEST_F(MultiLabel, LabelsAreMappedAndRounded) {
  const std::string map = scratch_.write("map.csv", "happy,joy\nglad,joy\nscared,fear\n");
  EXPECT_THAT(labels(store(of("a,happy|glad|scared\nb,scared\n", {"--label-map", map}))),
              ElementsAre("joy fear", "fear"));
  EXPECT_THAT(labels(store(of("a,1.0|2.2\nb,2\n", {"--round-labels"}))), ElementsAre("1 2", "2"));
  expect_refused(of("a,1|x\n", {"--round-labels"}), 65,
                 "r.csv, row 1 (line 2): label 'x' is not a number", "");
}

TEST_F(MultiLabel, DataWithoutAnyLabelIsRefused) {
  expect_refused(of("a,\nb,|\n"), 65, "r.csv has a label", "is --label the right column?");
  PrepareOptions with = of("a,joy\nb,joy|fear\n");
  with.test_source = scratch_.write("t.csv", "text,label\nc,\n");
  const SampleStore made = store(with);
  EXPECT_THAT(labels(made, Split::test), ElementsAre(""));
  with.dev_source = with.test_source;
  with.test_source.clear();
  expect_refused(with, 65, "no row of", "is --label the right column?");
}

TEST_F(MultiLabel, AStratifiedSplitKeepsTheSharesOfCombinations) {
  std::string rows;
  for (int i = 0; i < 10; ++i) rows += "a,joy|fear\nb,fear\nc,\nd,fear|joy\n";
  PrepareOptions with = of(rows);
  with.split = {0.8, 0, 0.2};
  with.stratify = true;
  std::vector<std::string> tested = labels(store(with), Split::test);
  EXPECT_EQ(std::ranges::count(tested, "fear joy"), 4);
  EXPECT_EQ(std::ranges::count(tested, "fear"), 2);
  EXPECT_EQ(std::ranges::count(tested, ""), 2);
}

TEST_F(MultiLabel, CheckCountsLabelsAndNotRows) {
  const DataFindings found =
      check_data(make_plan(of("a,joy|fear\nb,\nc,fear\nd,joy|food|fear\n")), [](const auto&) {});
  EXPECT_THAT(found.task, Contains(Pair("labels of a row", "1.50 on average, 3 at most")));
  EXPECT_THAT(found.task, Contains(Pair("  fear", "3 rows, 75.0 %")));
  EXPECT_THAT(found.task, Contains(Pair("  food", "1 row, 25.0 %")));
  EXPECT_THAT(found.obstacle.what, IsEmpty());
  EXPECT_THAT(check_data(make_plan(of("a,\n")), [](const auto&) {}).obstacle.what,
              HasSubstr("has a label"));
}

TEST_F(MultiLabel, TheModelDecidesWhenItScores) {
  EncoderSpec config;
  config.head = head_of({.labels = {"a", "b"}, .multi_label = true});
  const auto input = classify();
  EXPECT_THAT(input->score_by(config), ElementsAre("a", "b"));
  EXPECT_EQ(input->schema().front().shape, Shape::ragged);
  config.head = head_of({.labels = {"a", "b"}});
  expect_input_error(2, "--multi-label, but the model gives each text one label", "leave it out",
                     [&] { (void)classify({"--multi-label"})->score_by(config); });
}

}  // namespace
}  // namespace bp::trainer

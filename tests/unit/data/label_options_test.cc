// Labels that the user gives: --labels, --label-map and --unknown-labels.
// docs/acceptance.md, Data: Labels can be given, mapped or left out.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/unit/data/prepare_fixture.h"
#include "trainer/model/config.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/row_set.h"
#include "trainer/prepare/sample_list.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

class LabelOptions : public PrepareTest {
 protected:
  PrepareOptions of(const std::string& rows, const std::vector<std::string>& arguments) {
    PrepareOptions with = options(scratch_.write("r.csv", "text,label\n" + rows));
    with.task = classify(arguments);
    with.split = {1, 0, 0};
    with.rebuild = true;
    return with;
  }
  std::string map(const std::string& content, const std::string& name = "map.csv") {
    return scratch_.write(name, content);
  }
  // The labels of a split's samples in the rows' order, as "ROW:LABEL".
  static std::vector<std::string> labels(const SampleStore& store, Split split = Split::train) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < store.size(split); ++i) {
      const Sample sample = store.load(split, i);
      const std::int64_t label = label_of(sample);
      all.push_back(concat(sample.text_id, ":",
                           label < 0 ? "" : store.names()[static_cast<std::size_t>(label)]));
    }
    return all;
  }
  SampleStore store(const PrepareOptions& with) { return SampleStore::open(run(with).store); }
  DataFindings check(const PrepareOptions& with) {
    return check_data(make_plan(with), [](const std::string&) {});
  }
};

TEST_F(LabelOptions, AListFixesTheOrderOfTheClasses) {
  const SampleStore made = store(of("a,good\nb,bad\nc,good\n", {"--labels", "good, fair,bad"}));
  EXPECT_THAT(made.names(), ElementsAre("good", "fair", "bad"));
  EXPECT_THAT(labels(made), ElementsAre("1:good", "2:bad", "3:good"));
  EXPECT_THAT(messages_, Contains("no row has the label fair, which the model will not learn"));
}

TEST_F(LabelOptions, AListThatCannotBeRightIsRefused) {
  const auto refused = [&](const std::string& list, const std::string& text) {
    expect_input_error(2, text, "", [&] { (void)classify({"--labels", list}); });
  };
  refused("", "--labels: '' has an empty name");
  refused(",", "--labels: ',' has an empty name");
  refused("good,,bad", "--labels: 'good,,bad' has an empty name");
  refused("good,bad,", "--labels: 'good,bad,' has an empty name");
  refused("good,bad,good", "--labels: 'good' occurs twice");
  expect_refused(of("a,good\n", {"--labels", "good"}), 2, "--labels gives only one class, 'good'",
                 "two or more classes");
}

TEST_F(LabelOptions, AnotherLabelIsRefusedWithItsRow) {
  const std::string rows = "a,good\nb,bda\nc,strange\n";
  expect_refused(of(rows, {"--labels", "good,bad"}), 65,
                 "r.csv, row 2 (line 3): label 'bda' is not among those of --labels: good, bad",
                 "did you mean 'bad'? --label-map gives labels the names of classes, "
                 "--unknown-labels skip leaves such rows out");
  expect_refused(of("a,good\nc,strange\n", {"--labels", "good,bad"}), 65,
                 "row 2 (line 3): label 'strange' is not among those of --labels",
                 "is --label the right column");
}

// docs/features.md, Input: Labels found, given or mapped; rows with other labels skipped and
// counted | `--labels`, `--label-map`, `--unknown-labels skip`
TEST_F(LabelOptions, RowsWithOtherLabelsAreSkippedAndCounted) {
  const PrepareOptions with = of("a,strange\nb,bad\nc,good\na b,odd\nd,good\n",
                                 {"--labels", "good,bad", "--unknown-labels", "skip"});
  const SampleStore made = store(with);
  EXPECT_THAT(labels(made), ElementsAre("2:bad", "3:good", "5:good"));
  EXPECT_THAT(messages_, Contains(concat("--unknown-labels skip leaves out 2 rows with other "
                                         "labels than those of --labels, the first: ",
                                         with.source, ", row 1 (line 2), label 'strange'")));
  EXPECT_NO_THROW(made.verify());
}

TEST_F(LabelOptions, NoRowIsLeft) {
  const std::vector<std::string> skip = {"--labels", "good,bad", "--unknown-labels", "skip"};
  expect_refused(of("a,1\nb,2\n", skip), 65, "has one of the labels of --labels: good, bad",
                 "--unknown-labels skip left all rows out; is --label the right column?");
  EXPECT_THAT(check(of("a,1\nb,2\n", skip)).obstacle.what, HasSubstr("has one of the labels"));
}

TEST_F(LabelOptions, AFileMapsLabelsToClasses) {
  const std::string map_file = map("1,bad\r\n2,bad\r\n\"3\",\"fair, really\"\r\n5,good\r\n");
  const SampleStore made = store(of("a,5\nb,1\nc,2\nd,bad\na b,3\n", {"--label-map", map_file}));
  EXPECT_THAT(made.names(), ElementsAre("bad", "fair, really", "good"))
      << "in the order of the file";
  EXPECT_THAT(labels(made), ElementsAre("1:good", "2:bad", "3:bad", "4:bad", "5:fair, really"))
      << "a class's own name needs no line";
  const SampleStore ordered = store(of(
      "a,5\nb,1\n", {"--label-map", map("1\tbad\n5\tgood\n", "map.txt"), "--labels", "good,bad"}));
  EXPECT_THAT(ordered.names(), ElementsAre("good", "bad"));
  EXPECT_THAT(labels(ordered), ElementsAre("1:good", "2:bad"));
}

TEST_F(LabelOptions, LabelsAreTrimmedAndRoundedBeforeTheyAreMapped) {
  const std::string map_file = map("1,bad\n2,good\n");
  const SampleStore made =
      store(of("a,1.2\nb, 2\nc,n/a\n",
               {"--label-map", map_file, "--round-labels", "--unknown-labels", "skip"}));
  EXPECT_THAT(labels(made), ElementsAre("1:bad", "2:good"));
  EXPECT_THAT(messages_, Contains(HasSubstr("row 3 (line 4), label 'n/a'")));
}

TEST_F(LabelOptions, ABadMapIsNamedWithItsLine) {
  const auto refused = [&](const std::string& content, const std::string& text,
                           const std::string& hint) {
    const PrepareOptions with = of("a,1\nb,2\n", {"--label-map", map(content)});
    expect_refused(with, 65, text, hint);
  };
  refused("1,bad\n2\n", "map.csv, row 2 (line 2): has 1 field, not 2", "each line has a label");
  refused("1;bad|x\n2;good|y\n", "map.csv can be read with a semicolon or a bar between its fields",
          "each line has a label");
  refused("one\ntwo\n", "map.csv, row 1 (line 1): has 1 field, not 2", "each line has a label");
  refused("1,2,3\n", "map.csv, row 1 (line 1): has 3 fields, not 2", "each line has a label");
  refused("1,bad\n,good\n", "map.csv, row 2 (line 2): the label is empty", "each line has");
  refused("1,bad\n2,\n", "map.csv, row 2 (line 2): the class is empty", "each line has a label");
  refused("1,bad\n2,good\n1,good\n", "map.csv, row 3 (line 3): the label '1' occurs a second time",
          "the first is in ");
  refused("\n", "map.csv", "");
  refused("{\"1\": \"bad\"}\n", "map.csv has JSON objects", "each line has a label");
  expect_refused(of("a,1\nb,2\n", {"--label-map", scratch_.path("none.csv")}), 66,
                 "--label-map: cannot read ", "name the file with --label-map");
  expect_refused(of("a,1\nb,2\n", {"--label-map", map("1,bad\n2,bad\n")}), 2,
                 "map.csv gives only one class, 'bad'", "two or more");
  expect_refused(of("a,1\nb,2\n", {"--label-map", map("1,bad\n2,goood\n"), "--labels", "good,bad"}),
                 65, "map.csv, row 2 (line 2): class 'goood' is none of --labels",
                 "did you mean 'good'?");
}

TEST_F(LabelOptions, TheStoreRemembersThem) {
  const std::string map_file = map("1,bad\n2,good\n");
  PrepareOptions with = of("a,1\nb,2\n", {"--label-map", map_file});
  with.store = run(with).store;
  with.rebuild = false;
  (void)map("1,good\n2,bad\n");
  expect_refused(with, 2, "label map is ", "--rebuild");
  with.task = classify({"--labels", "1,2"});
  expect_refused(with, 2, "label 0 of --labels is not given there, 1 here", "--rebuild");
  with.task = classify({"--unknown-labels", "skip"});
  expect_refused(with, 2, "rows with other labels is not given there, left out here", "--rebuild");
}

// A dev or test file has the labels of the file to train on.
TEST_F(LabelOptions, OtherLabelsOfATestFileAreSkipped) {
  PrepareOptions with = of("a,good\nb,bad\n", {"--unknown-labels", "skip"});
  with.test_source = scratch_.write("t.csv", "text,label\na,odd\nb,good\nc,\nd,bad\n");
  const SampleStore made = store(with);
  EXPECT_THAT(labels(made), ElementsAre("1:good", "2:bad"));
  EXPECT_THAT(labels(made, Split::test), ElementsAre("2:good", "3:", "4:bad"));
}

TEST_F(LabelOptions, RowsAreSkippedThatTheModelCannotAnswer) {
  PrepareOptions with = of("a,odd\nb,good\nc,\n", {});
  auto task = classify({"--unknown-labels", "skip"});
  EncoderSpec model;
  model.head = head_of({.labels = {"good", "fair", "bad"}});
  (void)task->score_by(model);
  with.task = task;
  with.scored = true;
  const SampleStore made = store(with);
  EXPECT_THAT(made.names(), ElementsAre("good", "fair", "bad"));
  EXPECT_THAT(labels(made, Split::test), ElementsAre("2:good", "3:"));
  EXPECT_THAT(messages_, Contains(HasSubstr("than those of the model, the first: ")));
  EXPECT_THAT(messages_, Not(Contains(HasSubstr("no row has the label"))));

  task = classify({"--labels", "good,ill"});
  (void)task->score_by(model);
  with.task = task;
  expect_refused(with, 2, "class 'ill' is none of the model's labels",
                 "these are: good, fair, bad");
}

// A model may be used where the map of its training is not.
TEST_F(LabelOptions, RowsWithoutLabelsNeedNoMap) {
  const auto task = classify({"--label-map", scratch_.path("none.csv")});
  PrepareOptions with = options("");
  with.task = task;
  const auto maker =
      task->make_maker(with, {"bad", "good"}, Tokenizer(Vocabulary::read(with.vocabulary)));
  SampleList list;
  const SampleSink into_list = std::bind_front(&SampleList::add, &list);
  list.begin_row(1);
  maker->make(std::vector<std::string_view>{"a", ""}, into_list);
  ASSERT_EQ(list.samples().size(), 1U);
  EXPECT_EQ(label_of(list.samples().front()), -1);
  expect_input_error(66, "none.csv", "", [&] {
    maker->make(std::vector<std::string_view>{"a", "good"}, into_list);
  });
}

// A row that is left out neither repeats another nor has a place in the splits.
TEST_F(LabelOptions, SkippedRowsCountNeitherForDedupeNorForTheSplits) {
  std::string rows;
  for (int row = 0; row < 100; ++row) {
    const int text = row % 50;  // each text twice; the first of the even ones is left out
    rows += concat("a ", text, ",",
                   row < 50 && text % 2 == 0 ? "odd"
                   : text % 4 < 2            ? "good"
                                             : "bad",
                   "\n");
  }
  PrepareOptions with = of(rows, {"--labels", "good,bad", "--unknown-labels", "skip"});
  with.split = {0.6, 0.2, 0.2};
  with.dedupe = true;
  const SampleStore made = store(with);
  EXPECT_THAT(messages_, Contains(HasSubstr("--dedupe leaves out 25 of 100 rows")));
  EXPECT_EQ(made.size(Split::train), 30);
  EXPECT_EQ(made.size(Split::dev), 10);
  EXPECT_EQ(made.size(Split::test), 10);
  with.dedupe = false;
  const SampleStore all = store(with);
  EXPECT_EQ(all.size(Split::train), 45);
  EXPECT_EQ(all.size(Split::dev), 15);
  EXPECT_EQ(all.size(Split::test), 15);

  const DataFindings found = check(with);
  EXPECT_THAT(found.rows, ElementsAre(45, 15, 15));
  EXPECT_EQ(found.repeats.repeated, 25);
  EXPECT_EQ(found.tokens, 150);
}

TEST_F(LabelOptions, CheckCountsThem) {
  const std::string rows = "a,good\nb,bad\nc,odd\n";
  PrepareOptions with = of(rows, {"--labels", "good,fair,bad"});
  DataFindings found = check(with);
  const std::string where = "1, the first: " + with.source + ", row 3 (line 4)";
  EXPECT_THAT(found.files[0].task,
              ElementsAre(Pair("  without a label", "0"), Pair("  with another label", where)));
  EXPECT_EQ(found.obstacle.what,
            concat("1 row with a label that is none of those of --labels, the first: ", with.source,
                   ", row 3 (line 4)"));
  EXPECT_THAT(found.obstacle.hint, HasSubstr("--unknown-labels skip"));

  with.task = classify({"--labels", "good,fair,bad", "--unknown-labels", "skip"});
  found = check(with);
  EXPECT_EQ(found.obstacle.what, "");
  EXPECT_THAT(found.files[0].task, Contains(Pair("  with another label", where + "; left out")));
  EXPECT_THAT(found.task,
              ElementsAre(Pair("labels", "3"), Pair("  bad", "1 row, 50.0 %"),
                          Pair("  good", "1 row, 50.0 %"), Pair("  fair", "0 rows, 0.0 %")));
}

TEST(RowSetTest, JoinsAnother) {
  RowSet rows = {1, 200};
  rows.insert(RowSet{1, 64, 300});
  EXPECT_EQ(rows.size(), 4);
  rows.index();
  EXPECT_EQ(rows.count_below(201), 3);
  EXPECT_TRUE(rows.contains(300));
}

}  // namespace
}  // namespace bp::trainer

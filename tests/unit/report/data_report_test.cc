// bert_train check: what it finds in files, what it prints, and what would keep it from training.
#include "trainer/report/data_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "tests/support/scratch.h"
#include "tests/support/task_input.h"
#include "tests/unit/data/full_disk.h"
#include "tests/unit/data/input_refusal.h"

namespace bp::trainer {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

class DataReport : public testing::Test {
 protected:
  [[nodiscard]] Plan plan_of(const std::string& train, const std::string& test = "") {
    PrepareOptions options;
    options.task = classify();
    options.source = scratch_.write("a.csv", "text,label\n" + train);
    if (!test.empty()) options.test_source = scratch_.write("t.csv", "text,label\n" + test);
    options.vocabulary = scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n");
    options.max_length = 5;
    return make_plan(options);
  }
  static DataFindings check(const Plan& plan) {
    return check_data(plan, [](const std::string&) {});
  }

  Scratch scratch_;
};

// docs/features.md, Splits and batches: The counts of labels in each split | `report.html`,
// `bert_train check`
TEST_F(DataReport, CountsWhatTheFilesHold) {
  const Plan plan = plan_of("a b,yes\na b c a,yes\n,no\na b,no\nz,\n", "a b,yes\nb,\nc,perhaps\n");
  const DataFindings found = check(plan);
  ASSERT_EQ(found.files.size(), 2U);
  EXPECT_EQ(found.files[0].rows, 5);
  EXPECT_EQ(found.files[0].empty.count, 1);
  EXPECT_EQ(found.files[0].empty.first, scratch_.path("a.csv") + ", row 3 (line 4)");
  EXPECT_THAT(found.files[0].task,
              ElementsAre(Pair("  without a label", concat("1, the first: ", scratch_.path("a.csv"),
                                                           ", row 5 (line 6)"))));
  EXPECT_EQ(found.files[1].rows, 3);
  EXPECT_THAT(
      found.files[1].task,
      ElementsAre(Pair("  without a label",
                       concat("1, the first: ", scratch_.path("t.csv"), ", row 2 (line 3)")),
                  Pair("  with another label",
                       concat("1, the first: ", scratch_.path("t.csv"), ", row 3 (line 4)"))));
  EXPECT_THAT(found.task, ElementsAre(Pair("labels", "2"), Pair("  no", "2 rows, 50.0 %"),
                                      Pair("  yes", "2 rows, 50.0 %")));
  EXPECT_THAT(found.lengths, ElementsAre(Pair(0, 1), Pair(1, 3), Pair(2, 3), Pair(4, 1)));
  EXPECT_EQ(found.tokens, 13);
  EXPECT_EQ(found.unknown_tokens, 1);
  EXPECT_EQ(found.vocabulary, 7);
  EXPECT_THAT(found.rows, ElementsAre(5, 0, 3));
  EXPECT_EQ(found.repeats.repeated, 2);
  EXPECT_EQ(found.repeats.test_in_train, 1);
  EXPECT_EQ(found.repeats.dev_in_train, 0);
}

TEST_F(DataReport, FitsATerminal) {
  const Plan plan = plan_of("a b,yes\na b c a,yes\n,no\na b,no\n", "a b,yes\nb,\n");
  const std::string train = scratch_.path("a.csv");
  const std::string test = scratch_.path("t.csv");
  EXPECT_EQ(data_report(check(plan), plan),
            concat(train, " 4 rows\n", "  empty texts           1, the first: ", train,
                   ", row 3 (line 4)\n",
                   "  without a label       0\n",  //
                   test, " 2 rows\n",
                   "  empty texts           0\n"
                   "  without a label       1, the first: ",
                   test, ", row 2 (line 3)\n",
                   "  with another label    0\n"
                   "splits                  4 train, 0 dev, 2 test\n"
                   "repeated texts          2, 33.3 %; --dedupe keeps each once\n"
                   "  also in train         0 of dev, 1 of test\n"
                   "labels                  2\n"
                   "  no                    2 rows, 50.0 %\n"
                   "  yes                   2 rows, 50.0 %\n"
                   "tokens                  11, of them unknown 0.0 %; a vocabulary of 7\n"
                   "  in half of the texts  at most 2\n"
                   "  in 95 %, 99 %         at most 4, 4\n"
                   "  in the longest        4\n"
                   "  over 3                1 text, 16.7 %: folded into several samples by "
                   "--max-length 5"));
}

TEST_F(DataReport, SaysWhatPreparingSaysOfTheFile) {
  std::vector<std::string> said;
  PrepareOptions options;
  options.task = classify();
  options.source = scratch_.write("s.csv", "text;label\na, b;Yes\nb;yes\nc;no\n");
  options.vocabulary = scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n");
  const Plan plan = make_plan(options);
  const DataFindings found =
      check_data(plan, [&](const std::string& text) { said.push_back(text); });
  EXPECT_THAT(said, ElementsAre(concat("reading ", options.source,
                                       ", with a semicolon between its fields")));
  EXPECT_THAT(
      data_report(found, plan),
      EndsWith("\nnote: the labels 'Yes' and 'yes' differ only by upper and lower case, and "
               "are different classes; --label-map FILE makes them one"))
      << "there is no store to rebuild";
}

TEST_F(DataReport, CountsPairsOfWhichOneTextIsEmpty) {
  PrepareOptions options;
  options.task = classify({"--text", "a", "--text2", "b"});
  options.source = scratch_.write("p.csv", "a,b,label\na,b,x\n,b,y\na, ,x\n,,y\n");
  options.vocabulary = scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n");
  const DataFindings found = check(make_plan(options));
  EXPECT_EQ(found.files[0].empty.count, 3);
  EXPECT_EQ(found.files[0].empty.first, scratch_.path("p.csv") + ", row 2 (line 3)");
}

TEST_F(DataReport, ShowsTheMostFrequentOfManyLabels) {
  std::string rows;
  for (int label = 0; label < 30; ++label) {
    for (int i = 0; i <= label; ++i) rows += concat("a,", label, "\n");
  }
  const Plan plan = plan_of(rows);
  const std::string text = data_report(check(plan), plan);
  EXPECT_THAT(text, HasSubstr("\nlabels                  30\n"
                              "  29                    30 rows, 6.5 %\n"));
  EXPECT_THAT(text, HasSubstr("\n  others                55 rows, 11.8 %\ntokens"));
}

TEST_F(DataReport, LabelsCannotControlTheTerminalOrBreakLines) {
  const Plan plan = plan_of("a,\"l\x1b[32mone\"\nb,\"two\b\b\nX\"\n");
  const std::string text = data_report(check(plan), plan);
  EXPECT_EQ(text.find_first_of("\x1b\b"), std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr("\n  l [32mone             1 row, 50.0 %\n"
                              "  two   X               1 row, 50.0 %\n"));
}

TEST_F(DataReport, NamesWhatWouldKeepFromTraining) {
  const auto obstacle = [&](const std::string& train, const std::string& test = "") {
    const Plan plan = plan_of(train, test);
    return check(plan).obstacle.what;
  };
  EXPECT_EQ(obstacle("a,yes\nb,no\n", "a,yes\nb,\n"), "");
  EXPECT_EQ(obstacle("a,yes\nb,\nc,no\nc,\n"),
            "2 rows without a label, the first: " + scratch_.path("a.csv") + ", row 2 (line 3)");
  EXPECT_EQ(obstacle("a,yes\nb,no\n", "a,ja\n"),
            concat("1 row with a label that ", scratch_.path("a.csv"),
                   " lacks, the first: ", scratch_.path("t.csv"), ", row 1 (line 2)"));
  EXPECT_EQ(obstacle("a,yes\nb,yes\n"), "all rows have the same label, 'yes'");
}

// What is wrong is found in one place, so `check` ends with what training refuses first.
TEST_F(DataReport, EndsWithWhatTrainingRefuses) {
  std::string free_text;
  for (int row = 0; row < 1500; ++row) free_text += concat("a,label ", row, '\n');
  struct Case {
    std::shared_ptr<const TaskInput> task;
    std::string train;
    std::string test;
    std::string place;
  };
  const std::string in_train = scratch_.path("x.csv");
  const std::string in_test = scratch_.path("y.csv");
  const std::vector<Case> cases = {
      {classify(), free_text, "", in_train},
      {classify(), "a,yes\nb,\nc,\n", "", in_train + ", row 2 (line 3)"},
      {classify(), "a,yes\nb,no\n", "a,no\nb,ja\nc,ja\n", in_test + ", row 2 (line 3)"},
      {classify({"--labels", "a,b"}), "a,c\nb,\n", "", in_train + ", row 1 (line 2)"},
      {classify({"--round-labels"}), "a,1\nb,x\n", "", in_train + ", row 2 (line 3)"},
      {classify({"--multi-label"}), "a,\nb,\n", "", in_train},
      {classify({"--labels", "c,d", "--unknown-labels", "skip"}), "a,e\n", "", in_train},
      {classify(), "", "", in_train},
      {classify(), "a,yes\nb,no\n", "", in_test},
      {input_with("regress", {"--target", "label"}), "a,1\nb,\nc,x\n", "",
       in_train + ", row 2 (line 3)"},
      {input_with("regress", {"--target", "label"}), "a,1\nb,1\n", "", in_train},
      {input_with("tokens", {"--words", "text", "--tags", "label"}), "a b,O B-X\na,NN\nb,O O\n", "",
       in_train + ", row 2 (line 3)"},
      {input_with("tokens", {"--words", "text", "--tags", "label"}), "a b,O B-X\n", "a,B-Y\n",
       in_test + ", row 1 (line 2)"},
  };
  for (const Case& c : cases) {
    PrepareOptions options;
    options.task = c.task;
    options.source = scratch_.write("x.csv", "text,label\n" + c.train);
    options.header = HeaderMode::yes;
    if (!c.test.empty() || c.place == in_test) {
      options.test_source = scratch_.write("y.csv", "text,label\n" + c.test);
    }
    options.vocabulary = scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\nc\n");
    options.rebuild = true;
    const std::string refused =
        test::input_refusal([&] { (void)prepare(options, [](const std::string&) {}); });
    const Obstacle found = check(make_plan(options)).obstacle;
    EXPECT_THAT(refused,
                AllOf(StartsWith("65: "), HasSubstr(c.place), EndsWith(" | " + found.hint)));
    EXPECT_THAT(found.what, HasSubstr(c.place)) << refused;
  }
}

TEST_F(DataReport, AColumnOfFreeTextIsNoLabel) {
  std::string rows;
  for (int row = 0; row < 1500; ++row) rows += concat("a,label ", row, '\n');
  const Obstacle found = check(plan_of(rows)).obstacle;
  EXPECT_THAT(found.what, HasSubstr("a.csv has 1500 different labels in 1500 rows"));
  EXPECT_THAT(found.hint, HasSubstr("column 2 is not a label"));
}

TEST_F(DataReport, RefusesABadVocabulary) {
  Plan plan = plan_of("a,yes\nb,no\n");
  (void)scratch_.write("vocab.txt", "[PAD]\n");
  EXPECT_THAT(test::input_refusal([&] { (void)check(plan); }),
              HasSubstr("| --vocab takes the vocab.txt or the tokenizer.json of a BERT "));
}

TEST_F(DataReport, NamesTMPDIRIfItsDiskIsFull) {
  std::string rows;
  for (int row = 0; row < 1000; ++row) rows += "a b,yes\n";
  const Plan plan = plan_of(rows);
  EXPECT_THAT(
      error_on_full_disk(scratch_, 1000,
                         [&] {
                           const auto check = [&] {
                             (void)check_data(
                                 plan, [](const std::string&) {}, 100);
                           };
                           throw Error(ErrorCode::io, test::input_refusal(check));
                         }),
      AllOf(StartsWith("70: cannot write a temporary file in "),
            EndsWith(": File too large | set TMPDIR to a folder on a disk with more space")));
}

// A vocabulary is trained as prepare() trains it.
TEST_F(DataReport, NeedsNoVocabulary) {
  PrepareOptions options;
  options.task = classify();
  options.source = scratch_.write("a.csv", "text,label\nred red red,a\nblue blue,b\nred,a\n");
  options.split = {1, 0, 0};
  const DataFindings found = check(make_plan(options));
  EXPECT_EQ(found.tokens, 6);
  EXPECT_EQ(found.unknown_tokens, 0);
  EXPECT_THAT(scratch_.names(), ElementsAre("a.csv"));
}

}  // namespace
}  // namespace bp::trainer

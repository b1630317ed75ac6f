// What the task "gap" makes of files: names, samples, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/support/task_input.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/plan.h"
#include "trainer/prepare/prepare.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/gap/gap_config.h"

namespace bp::trainer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

using Integers = std::vector<std::int64_t>;

constexpr const char* kHeader =
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n";
constexpr const char* kFirst =
    "dev-1\tann met bob and he sat\the\t16\tann\t0\tFALSE\tbob\t8\tTRUE\tu\n";

// The row dev-2, with these values of A-coref and B-coref.
std::string second(const std::string& a, const std::string& b) {
  return concat("dev-2\tshe met bob, ann\tshe\t0\tann\t13\t", a, "\tbob\t8\t", b, "\tu\n");
}

class GapInputs : public testing::Test {
 protected:
  PrepareOptions options(const std::string& rows,
                         const std::vector<std::string>& arguments = {},
                         const std::string& header = kHeader) {
    PrepareOptions with;
    with.task = input_with("gap", arguments);
    with.source = scratch_.write("g.tsv", header + rows);
    with.split = {1, 0, 0};
    with.max_length = 10;
    with.vocabulary = scratch_.write(
        "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nann\nbob\nhe\nshe\nmet\nand\nsat\n,\n");
    return with;
  }
  static SampleStore store_of(const PrepareOptions& with) {
    return SampleStore::open(prepare(with, [](const std::string&) {}).store);
  }
  void expect_refused(const PrepareOptions& with,
                      int code,
                      const std::string& text,
                      const std::string& hint) {
    expect_input_error(code, text, hint, [&] { (void)store_of(with); });
  }

  Scratch scratch_;
};

TEST_F(GapInputs, ARowIsASample) {
  const SampleStore store = store_of(options(kFirst + second("TRUE", "FALSE")));
  EXPECT_THAT(store.names(), ElementsAre("NEITHER", "A", "B"));
  EXPECT_EQ(store.text(1, Split::train), "ann met bob and he sat");
  const Sample first = store.load(Split::train, 0);
  EXPECT_THAT(first.token_ids, ElementsAre(2, 4, 8, 5, 9, 6, 10, 3));
  ASSERT_EQ(first.arrays.size(), 4U);
  EXPECT_EQ(first.arrays[0].integers, Integers{2});
  EXPECT_EQ(first.arrays[1].integers, Integers{1});
  EXPECT_EQ(first.arrays[2].integers, (Integers{5, 1, 3}));
  EXPECT_EQ(first.arrays[3].integers, (Integers{'d', 'e', 'v', '-', '1'}));
  EXPECT_EQ(store.load(Split::train, 1).arrays[0].integers, Integers{1});
  EXPECT_EQ(store.load(Split::train, 1).arrays[1].integers, Integers{2});
}

TEST_F(GapInputs, OnlyTheHeadSegmentHasTokenTypes) {
  PrepareOptions with = options(kFirst, {"--gap-head", "segment"});
  with.store = with.source + ".sqlite";  // else each head has a store of its own
  const Sample sample = store_of(with).load(Split::train, 0);
  EXPECT_EQ(sample.arrays.at(4).integers, (Integers{0, 2, 0, 3, 0, 1, 0, 0}));
  with.task = input_with("gap", {"--gap-head", "concat"});
  expect_refused(with, 2, "token types is those of the mentions there, none here", "--rebuild");
  with.rebuild = true;
  (void)store_of(with);
  with.rebuild = false;
  with.task = input_with("gap", {"--gap-head", "mul"});
  EXPECT_TRUE(prepare(with, [](const std::string&) {}).reused);
}

TEST_F(GapInputs, AFileToScoreIsReadForTheModelsHead) {
  EncoderSpec model;
  model.head = gap_keys(GapHeadKind::segment);
  const auto task = input_with("gap");
  EXPECT_THAT(task->score_by(model), ElementsAre("NEITHER", "A", "B"));
  EXPECT_EQ(task->schema().back().name, kTokenTypes);
}

TEST_F(GapInputs, RowsToTestNeedNoAnswer) {
  PrepareOptions with = options(kFirst);
  with.test_source = scratch_.write("t.tsv", kHeader + second("", ""));
  EXPECT_EQ(store_of(with).load(Split::test, 0).arrays[0].integers, Integers{-1});
  with = options(second("", ""));
  with.store = scratch_.path("other.sqlite");
  expect_refused(with, 65, "g.tsv, row 1 (line 2): has no answer",
                 "A-coref and B-coref say the answer");
}

// docs/acceptance.md, Tasks: A row of GAP that is wrong is named.
TEST_F(GapInputs, NamesTheRowThatIsWrong) {
  expect_refused(options(kFirst + second("yes", "no")), 65,
                 "g.tsv, row 2 (line 3): dev-2: B-coref is 'no', neither TRUE nor FALSE",
                 "both columns are empty");
  PrepareOptions with = options(second("TRUE", "FALSE") + kFirst);
  with.max_length = 7;
  with.store = scratch_.path("long.sqlite");
  expect_refused(with, 65,
                 "g.tsv, row 2: dev-1: it has 8 tokens with [CLS] and [SEP]; at most 7 are allowed",
                 "raise --max-length");
  EXPECT_THAT(scratch_.names(), Not(Contains(HasSubstr("long.sqlite"))));
  EXPECT_THAT(check_data(make_plan(with), [](const std::string&) {}).obstacle.what,
              HasSubstr("g.tsv, row 2 (line 3): dev-1: it has 8 tokens with [CLS] and [SEP]"));
}

TEST_F(GapInputs, TheColumnsHaveFixedNames) {
  const std::string header =
      "ID\tText\tWord\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset"
      "\tB-coref\tURL\n";
  expect_refused(options(kFirst, {}, header), 2, "g.tsv has no column 'Pronoun': it has ID, ",
                 "the task needs these columns: ID, Text, Pronoun, ");
}

TEST_F(GapInputs, CheckCountsAnswersAndPronouns) {
  PrepareOptions with = options(kFirst + second("FALSE", "FALSE"));
  with.test_source = scratch_.write("t.tsv", kHeader + second("", ""));
  const auto check = [&] { return check_data(make_plan(with), [](const std::string&) {}); };
  const DataFindings found = check();
  EXPECT_THAT(found.files.at(0).task,
              ElementsAre(Pair("  NEITHER", "1"), Pair("  A", "0"), Pair("  B", "1"),
                          Pair("  without an answer", "0"),
                          Pair("  pronouns", "1 masculine, 1 feminine, 0 others")));
  EXPECT_THAT(found.files.at(1).task, Contains(Pair("  without an answer", HasSubstr("1, the "))));
  EXPECT_EQ(found.obstacle.what, "");
  with.source = scratch_.write("w.tsv", kHeader + second("1", "0") + second("", ""));
  EXPECT_THAT(check().obstacle.what, HasSubstr("w.tsv, row 1 (line 2): dev-2: B-coref is '0'"));
  EXPECT_THAT(check().files.at(0).task, Contains(Pair("  with a wrong value", HasSubstr("1, "))));
  with.source = scratch_.write("n.tsv", kHeader + second("", ""));
  EXPECT_THAT(check().obstacle.what, HasSubstr("1 row without an answer, the first: "));
}

}  // namespace
}  // namespace bp::trainer

// What the task "regress" makes of the rows of a file.
#include "trainer/tasks/regress/regress_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/text.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/prepare.h"
#include "trainer/tasks/inputs.h"

namespace bp::trainer {
namespace {

using testing::ElementsAre;
using testing::Optional;
using testing::Pair;

class RegressInputTest : public testing::Test {
 protected:
  PrepareOptions options(const std::string& rows, const std::string& test = "") {
    PrepareOptions options;
    options.task = make_regress_input();
    options.source = scratch_.write("a.csv", "text,target\n" + rows);
    if (!test.empty()) options.test_source = scratch_.write("t.csv", "text,target\n" + test);
    options.dev_source = scratch_.write("d.csv", "text,target\na,1\n");
    options.vocabulary = scratch_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n");
    options.max_length = 4;
    return options;
  }
  SampleStore store(const PrepareOptions& with) {
    return SampleStore::open(prepare(with, [](const std::string&) {}).store);
  }
  void expect_refused(const std::string& rows, const std::string& text, const std::string& hint) {
    expect_input_error(65, text, hint, [&] { (void)store(options(rows)); });
  }
  Scratch scratch_;
};

TEST_F(RegressInputTest, KeepsNumbersExactlyAndOneForEachWindow) {
  const SampleStore made = store(options("a,0.1\nb a b,\"-3,5\"\na, 1e3 \n", "a,2.5\nb,\n"));
  EXPECT_EQ(made.task(), "regress");
  ASSERT_EQ(made.size(Split::train), 4);
  EXPECT_THAT(target_of(made.load(Split::train, 0)), Optional(0.1));
  EXPECT_THAT(target_of(made.load(Split::train, 1)), Optional(-3.5)) << "a decimal comma";
  EXPECT_THAT(target_of(made.load(Split::train, 2)), Optional(-3.5)) << "its second window";
  EXPECT_THAT(target_of(made.load(Split::train, 3)), Optional(1000));
  EXPECT_THAT(target_of(made.load(Split::test, 0)), Optional(2.5));
  EXPECT_EQ(target_of(made.load(Split::test, 1)), std::nullopt);
  EXPECT_NO_THROW(made.verify());
}

TEST_F(RegressInputTest, NamesARowWithoutANumber) {
  expect_refused(
      "a,1\nb,good\n", "a.csv, row 2 (line 3): target 'good' is not a number",
      "is column 2 the right one? --target names another; --task classify learns labels");
  expect_refused("a,1\nb,\n", "a.csv, row 2 (line 3): has no target", "column 2 is empty there");
  expect_refused("a,1\nb,inf\n", "target 'inf' is not a number", "--target");
  expect_refused("a,2.5\nb,\"2,5\"\n", "all targets of", "there is nothing to learn");
}

TEST_F(RegressInputTest, CheckSaysWhatTheNumbersAre) {
  const auto check = [&](const std::string& rows, const std::string& test = "") {
    return check_data(make_plan(options(rows, test)), [](const std::string&) {});
  };
  const DataFindings good = check("a,1\na,2\nb,3\nb,4\na,10\n", "a,1\nb,\n");
  EXPECT_THAT(good.task,
              ElementsAre(Pair("targets", "1 to 10"), Pair("  half of them", "between 2 and 4"),
                          Pair("  median", "3")));
  EXPECT_EQ(good.files[2].task[0],
            Findings::Line("  without a target",
                           concat("1, the first: ", scratch_.path("t.csv"), ", row 2 (line 3)")));
  EXPECT_EQ(good.obstacle.what, "");
  EXPECT_THAT(check("a,1\nb,x\nb,y\n").obstacle.what,
              testing::StartsWith("2 rows with a target that is not a number, the first: "));
  EXPECT_THAT(check("a,1\nb,2\nb,\n").obstacle.what,
              testing::StartsWith("1 row without a target, the first: "));
  const DataFindings same = check("a,1\nb,1.0\n");
  EXPECT_EQ(same.obstacle.what, concat("all targets of ", same.files[0].path, " are 1"));
}

}  // namespace
}  // namespace bp::trainer

// What the task "regress" makes of the rows of a file.
#include "trainer/tasks/regress/regress_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "base/text.h"
#include "bp/error.h"
#include "tests/support/scratch.h"
#include "tests/unit/data/input_error_matcher.h"
#include "trainer/prepare/data_check.h"
#include "trainer/prepare/prepare.h"
#include "trainer/tasks/inputs.h"
#include "trainer/tasks/regress/target_scale.h"

namespace bp::trainer {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
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

TEST_F(RegressInputTest, CommasThatMayBeBetweenThousandsAreNoticed) {
  const auto remarks = [&](const PrepareOptions& with) {
    return check_data(make_plan(with), [](const std::string&) {}).remarks;
  };
  const std::string remark =
      "targets such as '1,101' are read as 1.101; if the comma is between thousands, remove it "
      "from the file";
  EXPECT_THAT(remarks(options("a,\"1,101\"\na,\"1,996\"\nb,1\n")), ElementsAre(remark));
  EXPECT_THAT(remarks(options("a,\"1,101\"\na,\"1,5\"\n")), IsEmpty()) << "decimals";
  EXPECT_THAT(remarks(options("a,\"0,101\"\na,\"0,996\"\n")), IsEmpty());
  PrepareOptions german = options("");
  german.source = scratch_.write("a.csv", "text;target\na;1.101\nb;1.996\n");
  german.dev_source.clear();
  EXPECT_THAT(remarks(german),
              ElementsAre("targets such as '1.101' are read as 1.101; if the point is between "
                          "thousands, remove it from the file"));
  german.source = scratch_.write("a.csv", "text;target\na;1,101\nb;1,996\n");
  EXPECT_THAT(remarks(german), IsEmpty()) << "a semicolon goes with decimal commas";
}

TEST_F(RegressInputTest, LargeTargetsAreStandardised) {
  std::vector<std::string> said;
  const PrepareOptions with = options("a,1000\na,2000\nb,3000\nb,2000\n");
  const SampleStore made = SampleStore::open(
      prepare(with, [&](const std::string& text) { said.push_back(text); }).store);
  const TargetScale scale = scale_of(made.names());
  EXPECT_EQ(scale.mean, 2000);
  EXPECT_NEAR(scale.deviation, std::sqrt(500'000), 1e-9);
  EXPECT_THAT(target_of(made.load(Split::train, 0)), Optional(1000)) << "the store has the targets";
  EXPECT_THAT(said,
              Contains("the targets are standardised: mean 2000, deviation 707.1; the loss of "
                       "training is of such numbers, predictions and scores are of the "
                       "targets"));
}

TEST_F(RegressInputTest, UsualTargetsStayAsTheyAre) {
  EXPECT_THAT(store(options("a,1\na,5\nb,3\n")).names(), IsEmpty());
}

TEST(TargetScaleTest, IsKeptInStoresAndConfigurations) {
  TargetMoments moments;
  for (const double target : {-3e6, 1e6, 5e6}) moments.add(target);
  const TargetScale scale = moments.scale();
  EXPECT_EQ(scale.mean, 1e6);
  EXPECT_EQ(scale_of(names_of(scale)), scale);
  EncoderSpec config;
  EXPECT_FALSE(scale_of(config).standardises());
  config.head = keys_of(scale);
  EXPECT_EQ(scale_of(parse_config(config_json(config))), scale);
  EXPECT_NEAR(scale.target_of(scale.output_of(5e6)), 5e6, 1e-6);
  config.head["bp_target_deviation"] = "0";
  EXPECT_THROW((void)scale_of(config), Error);
  EXPECT_THROW((void)scale_of(std::vector<std::string>{"bad", "good"}), InputError);
}

TEST(TargetScaleTest, OfUsualTargetsChangesNothing) {
  const auto standardises = [](const std::vector<double>& targets) {
    TargetMoments moments;
    for (const double target : targets) moments.add(target);
    return moments.scale().standardises();
  };
  EXPECT_FALSE(standardises({0, 5}));
  EXPECT_FALSE(standardises({}));
  EXPECT_FALSE(standardises({70, 70})) << "there is no deviation";
  EXPECT_TRUE(standardises({0, 100}));
  EXPECT_TRUE(standardises({0.01, 0.02}));
  EXPECT_TRUE(standardises({1000, 1001}));
}

}  // namespace
}  // namespace bp::trainer

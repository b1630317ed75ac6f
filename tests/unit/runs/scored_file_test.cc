// Scores of a predictions.csv.
// docs/acceptance.md, Runs: A run that is finished, in progress, stopped, failed or damaged has a
// report, and so has a predictions.csv alone.
#include "trainer/tasks/scored_file.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "runs_fixture.h"
#include "tests/unit/data/input_refusal.h"
#include "trainer/report/csv_rows.h"

namespace bp::trainer {
namespace {

using bp::trainer::test::RunsFixture;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ScoredFileTest : public RunsFixture {
 protected:
  ScoredFile scored(const std::string& text) const {
    write("p.csv", text);
    return score_file({.path = path("p.csv"), .name = "test"}).value();
  }
  std::string refusal(const std::string& text) const {
    return test::input_refusal([&] { (void)scored(text); });
  }
};

constexpr const char* kHead = "sample_id,text_id,label,prediction,p_no,\"p_yes, \"\"sir\"\"\"\n";

// docs/features.md, Evaluation and reports: A report from a file of predictions | `bert_train
// report FILE`
TEST_F(ScoredFileTest, HasTheScoresOfLabels) {
  const ScoredFile file = scored(concat(kHead, "1,1,no,no,0.750000,0.250000\n",
                                        "2,2,\"yes, \"\"sir\"\"\",no,1.000000,0.000000\n",
                                        "3,3,,no,0.500000,0.500000\n"));
  EXPECT_EQ(file.summary.at("accuracy"), 0.5);
  EXPECT_EQ(file.summary.at("roc_auc"), 0);
  EXPECT_NEAR(file.summary.at("loss"), (std::log(1 / 0.75) - std::log(5e-7)) / 2, 1e-8);
  ASSERT_EQ(file.lines.size(), 4U);
  EXPECT_THAT(file.lines[0], HasSubstr("test: accuracy 0.5000"));
  EXPECT_THAT(file.lines[3], HasSubstr("yes, \"sir\""));
  EXPECT_THAT(sections_html(file.sections), HasSubstr("yes, &quot;sir&quot;"));
}

TEST_F(ScoredFileTest, HasTheScoresOfAnyNumberOfLabels) {
  const std::string head = "sample_id,text_id,label,prediction,p_joy,p_fear\n";
  const ScoredFile file = scored(
      concat(head, "1,1,joy|fear,joy|fear,0.9,0.8\n", "2,2,fear,joy,0.9,0.3\n", "3,3,,,0.1,0.1\n"));
  EXPECT_NEAR(file.summary.at("subset_accuracy"), 2.0 / 3, 1e-15);
  EXPECT_NEAR(file.summary.at("f1_micro"), 2 * 2 / 6.0, 1e-15);
}

TEST_F(ScoredFileTest, HasTheScoresOfNumbers) {
  const ScoredFile file =
      scored("sample_id,text_id,target,prediction\n1,1,1,2\n2,2,2,4\n3,3,,7\n4,4,3,6\n");
  EXPECT_DOUBLE_EQ(file.summary.at("pearson"), 1);
  EXPECT_DOUBLE_EQ(file.summary.at("mae"), 2);
}

TEST_F(ScoredFileTest, NamesTheWorstRowsWithTheTextsThatAreKnown) {
  const auto errors = [&](const std::string& content) {
    write("p.csv", content);
    const auto text = [](std::int64_t sample_id, std::int64_t text_id) {
      return sample_id == 2 ? concat("text ", text_id) : "";
    };
    const ScoredFile file = score_file({path("p.csv"), "test", {}, text}).value();
    EXPECT_EQ(sections_html(file.sections).find("text 12") != std::string::npos,
              file.errors.find("text 12") != std::string::npos);
    return file.errors;
  };
  EXPECT_EQ(errors("sample_id,text_id,label,prediction,p_no,p_yes\n1,11,no,no,0.75,0.25\n"
                   "2,12,yes,no,0.99,0.01\n3,13,,no,1,0\n"),
            "worst rows of test, those with the highest loss\n"
            "  text 12, sample 2: is yes, predicted no; probability of the true label 0.01, loss "
            "4.61\n    text 12\n"
            "  text 11, sample 1: is no, predicted no; probability of the true label 0.75, loss "
            "0.29\n");
  EXPECT_THAT(errors("sample_id,text_id,label,prediction,p_joy,p_fear\n1,11,joy|fear,joy|fear,0.9,"
                     "0.8\n2,12,,joy,0.9,0.3\n"),
              HasSubstr("  text 12, sample 2: is none, predicted joy; loss 1.33\n    text 12\n"));
  EXPECT_EQ(errors("sample_id,text_id,target,prediction\n1,11,1,2\n2,12,2,4\n3,13,,7\n"),
            "worst rows of test, those with the largest errors\n"
            "  text 12, sample 2: is 2, predicted 4\n    text 12\n"
            "  text 11, sample 1: is 1, predicted 2\n");
}

TEST_F(ScoredFileTest, IsEmptyWithoutAnswers) {
  EXPECT_THAT(scored(concat(kHead, "1,1,,no,0.7,0.3\n")).lines, IsEmpty());
  EXPECT_THAT(scored("sample_id,text_id,target,prediction\n1,1,,2\n").lines, IsEmpty());
}

TEST_F(ScoredFileTest, IsNoneIfNoTaskHasItsColumns) {
  write("p.csv", "a,b\n1,2\n");
  EXPECT_FALSE(score_file({.path = path("p.csv")}));
}

TEST_F(ScoredFileTest, NamesTheLineOfDamage) {
  const std::string name = path("p.csv");
  EXPECT_THAT(refusal(""), HasSubstr("65: " + name + " is empty"));
  EXPECT_THAT(refusal(concat(kHead, "1,1,no,no,0.7,0.3\n1,1,no\n")),
              HasSubstr(name + ", line 3: it has 3 fields, and the first line has 6"));
  EXPECT_THAT(refusal(concat(kHead, "1,1,no,no,0.7,1.3\n")),
              HasSubstr(name + ", line 2: '1.3' is not a probability"));
  EXPECT_THAT(refusal(concat(kHead, "1,1,no,no,0.7,nan\n")),
              HasSubstr(name + ", line 2: 'nan' is not a probability"));
  EXPECT_THAT(refusal(concat(kHead, "1,1,\"no,no,0.7,0.3\n")),
              HasSubstr(name + ", line 2: a quote is not closed"));
  EXPECT_THAT(refusal(concat(kHead, "x,1,no,no,0.7,0.3\n")), HasSubstr("'x' is not an id"));
  EXPECT_THAT(refusal(concat(kHead, "1,1,no,maybe,0.7,0.3\n")),
              HasSubstr("has labels that are none of its columns p_LABEL"));
  EXPECT_THAT(refusal("sample_id,text_id,label,prediction,p_a,p_a\n"), HasSubstr("the same name"));
  EXPECT_THAT(test::input_refusal([&] { (void)score_file({.path = path("none")}); }),
              HasSubstr("66: cannot read " + path("none")));
}

TEST_F(ScoredFileTest, FieldsMayHoldQuotesCommasAndLines) {
  write("rows.csv", "a,b\r\n\"x, \"\"y\"\"\nz\",\n");
  CsvRows rows(path("rows.csv"));
  ASSERT_TRUE(rows.next());
  EXPECT_THAT(rows.fields(), ElementsAre("a", "b"));
  ASSERT_TRUE(rows.next());
  EXPECT_THAT(rows.fields(), ElementsAre("x, \"y\"\nz", ""));
  EXPECT_FALSE(rows.next());
}

}  // namespace
}  // namespace bp::trainer

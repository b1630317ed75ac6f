// Long texts that --long-text folds into several samples: one answer and one score a text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::read;
using ::testing::HasSubstr;
using ::testing::Not;

// The samples have at most 8 tokens.
class FoldedTexts : public test::FolderSuite<FoldedTexts> {
 protected:
  static constexpr const char* kWords[] = {"bad", "good"};

  static void SetUpTestSuite() {
    make_folder();
    std::string rows = "text,label,stars\n";
    for (int i = 0; i < 320; ++i) {
      rows += concat("film ", i % 7, " was ", kWords[i % 2], ",", kWords[i % 2], ",", 1 + i % 2 * 4,
                     "\n");
    }
    std::ofstream(path("train.csv")) << rows;
    std::ofstream(path("test.csv"))
        << "text,label,stars\n"
        << long_text() << ",bad,1\nfilm 2 was good,good,5\nfilm 3 was bad,bad,1\n";
    train("--task classify --label label --run classes");
    train("--task regress --target stars --run stars");
  }
  static void train(const std::string& options) {
    (void)output_of(
        bert_train(concat("train.csv --text text --max-length 8 --model tiny --batch 16 "
                          "--lr 1e-3 --epochs 4 --seed 3 ",
                          options)));
  }
  static std::string bert_train(const std::string& arguments) {
    return concat(kBinDir, "/bert_train ", arguments);
  }
  // Six samples or more, all of which say the same.
  static std::string long_text() {
    std::string text;
    for (int i = 0; i < 12; ++i) text += "film was good ";
    text.pop_back();
    return text;
  }
  // The fields of the rows behind the header.
  static std::vector<std::vector<std::string>> table(const std::string& csv) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(csv);
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
      std::istringstream fields(line);
      rows.emplace_back();
      for (std::string field; std::getline(fields, field, ',');) rows.back().push_back(field);
    }
    return rows;
  }
};

// docs/acceptance.md, Tasks: Of one long text whose answer is wrong and two short ones whose
// answers are right, the accuracy is 2/3, and each has one row of predictions.
// docs/features.md, Evaluation and reports: One answer and one score for a text that was folded, or
// for each sample | always, `--answer-per sample`
TEST_F(FoldedTexts, CountOnceAndHaveOneRow) {
  const std::string output =
      output_of(bert_train("eval classes test.csv --text text --label label --out texts.csv"));
  EXPECT_THAT(output, HasSubstr("accuracy 0.6667"));
  EXPECT_EQ(table(read(path("texts.csv"))).size(), 3U);
  const std::string samples = output_of(bert_train(
      "eval classes test.csv --text text --label label --answer-per sample --out samples.csv"));
  EXPECT_THAT(samples, Not(HasSubstr("accuracy 0.6667")));
  EXPECT_GE(table(read(path("samples.csv"))).size(), 8U);
  (void)output_of(concat(kBinDir,
                         "/bprun -n 3 bert_train eval classes test.csv --text text --label label "
                         "--out ranks.csv"));
  EXPECT_EQ(read(path("ranks.csv")), read(path("texts.csv")));
}

// docs/acceptance.md, Tasks: The answer to a folded text is that of the mean of its samples'
// outputs.
TEST_F(FoldedTexts, HaveTheMeanOfTheirSamples) {
  for (const bool of_stars : {false, true}) {
    const std::string what =
        concat("eval ", of_stars ? "stars" : "classes", " test.csv --text text ",
               of_stars ? "--target stars" : "--label label", " --out ");
    (void)output_of(bert_train(what + "text.csv"));
    (void)output_of(bert_train(what + "sample.csv --answer-per sample"));
    const auto output_in = [&](const std::vector<std::string>& row) {
      return of_stars ? std::stod(row.at(3))
                      : std::log(std::stod(row.at(5)) / std::stod(row.at(4)));
    };
    double sum = 0;
    int count = 0;
    for (const auto& row : table(read(path("sample.csv")))) {
      if (row.at(1) != "1") continue;
      sum += output_in(row);
      ++count;
    }
    ASSERT_GE(count, 6);
    EXPECT_NEAR(output_in(table(read(path("text.csv"))).at(0)), sum / count,
                of_stars ? 1e-4 : 0.05);
    for (const char* file : {"text.csv", "sample.csv"}) std::filesystem::remove(path(file));
  }
}

// docs/acceptance.md, Tasks: predict writes what eval writes, also from a pipe and in any blocks.
TEST_F(FoldedTexts, ArePredictedFromAPipe) {
  (void)output_of(
      "for i in $(seq 90); do tail -n +2 test.csv; done | cut -d, -f1 > lines; "
      "{ echo text,label; sed 's/$/,/' lines; } > many.csv");
  (void)output_of(
      bert_train("predict classes many.csv --text text --label label --out many-file.csv"));
  const std::string piped = output_of("cat lines | " + bert_train("predict classes -"));
  EXPECT_EQ(table(piped).size(), 270U);
  EXPECT_EQ(piped, read(path("many-file.csv")));
  (void)output_of(
      bert_train("eval classes many.csv --text text --label label --out many-eval.csv"));
  EXPECT_EQ(piped, read(path("many-eval.csv")));
  EXPECT_GT(
      table(output_of("cat lines | " + bert_train("predict classes - --answer-per sample"))).size(),
      700U);
}

}  // namespace
}  // namespace bp::trainer

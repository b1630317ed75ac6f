// The task "gap" through the programs that users run, on the first rows of its real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Gap : public test::FolderSuite<Gap> {
 protected:
  static void SetUpTestSuite() {
    const char* const data = std::getenv("BP_TEST_DATA");
    if (data == nullptr || !std::filesystem::exists(concat(data, "/gap"))) return;
    make_folder();
    (void)output_of(concat("for part in development validation test; do head -n 41 ", data,
                           "/gap/gap-$part.tsv > $part.tsv; done"));
    for (const char* head : {"concat", "mul", "segment"}) {
      (void)output_of(concat(kBinDir + "/bert_train ", train(head), "--run ", head));
    }
  }
  void SetUp() override {
    if (!has_folder()) GTEST_SKIP() << "BP_TEST_DATA names no folder with GAP's files";
  }

  static std::string train(const std::string& head) {
    return concat(
        "development.tsv --task gap --dev validation.tsv --test test.tsv --model tiny "
        "--batch 8 --epochs 2 --save-every 1 --keep 50 --gap-head ",
        head, " --store ", head, ".sqlite ");
  }
};

// docs/acceptance.md, Tasks: A GAP run has scores and Kaggle's file.
TEST_F(Gap, ARunHasScoresAndKagglesFile) {
  for (const std::string head : {"concat", "mul", "segment"}) {
    const auto summary = nlohmann::json::parse(read(path(head + "/summary.json")));
    EXPECT_EQ(summary["task"], "gap");
    EXPECT_GT(summary["test"]["log_loss"], 0);
    EXPECT_TRUE(summary["dev"].contains("f1_feminine"));
    const auto config = nlohmann::json::parse(read(path(head + "/model/config.json")));
    EXPECT_EQ(config["gap_head"], head);
    EXPECT_EQ(config["type_vocab_size"], head == "segment" ? 4 : 2);
    const std::string kaggle = read(path(head + "/kaggle.csv"));
    EXPECT_THAT(kaggle, StartsWith("ID,A,B,NEITHER\ntest-1,"));
    EXPECT_EQ(std::count(kaggle.begin(), kaggle.end(), '\n'), 41);
    EXPECT_THAT(read(path(head + "/report.html")), HasSubstr("<h2>Decisions, test split</h2>"));
  }
}

TEST_F(Gap, AnyNumberOfRanksGivesTheSameScores) {
  for (const std::string head : {"concat", "mul", "segment"}) {
    const std::string eval = concat("bert_train eval ", head, " test.tsv --out ");
    const std::string one = output_of(concat(kBinDir + "/", eval, "one.csv"));
    const std::size_t begin = one.find("test.tsv: log loss ");
    ASSERT_NE(begin, std::string::npos) << one;
    const std::string scores = one.substr(begin, one.find('\n', begin) - begin);
    EXPECT_THAT(output_of(concat(kBinDir + "/bprun -n 2 ", eval, "two.csv")), HasSubstr(scores));
    EXPECT_EQ(read(path("two.csv")), read(path("one.csv")));
    EXPECT_EQ(output_of(concat(kBinDir + "/bert_train predict ", head, " test.tsv")),
              read(path("one.csv")));
  }
  EXPECT_THAT(read(path("one.csv")),
              StartsWith("sample_id,text_id,id,label,prediction,p_A,p_B,p_NEITHER\n1,1,test-1,"));
}

TEST_F(Gap, AResumedRunEndsWithTheSameModel) {
  (void)output_of(concat(kBinDir + "/bert_train ", train("segment"),
                         "--run again --resume segment/checkpoints/step-3"));
  EXPECT_EQ(read(path("again/model/model.safetensors")),
            read(path("segment/model/model.safetensors")));
  EXPECT_EQ(read(path("again/kaggle.csv")), read(path("segment/kaggle.csv")));
}

TEST_F(Gap, AModelWithoutItsRunNeedsTheTask) {
  (void)output_of("cp -r segment/model alone");
  EXPECT_THAT(output_of(kBinDir + "/bert_train eval alone test.tsv --task gap"),
              HasSubstr("test.tsv: log loss "));
  EXPECT_THAT(in_folder(kBinDir + "/bert_train predict alone concat.sqlite --task gap").output,
              HasSubstr("the head segment needs samples with token types"));
}

TEST_F(Gap, ATrainedModelIsTrainedFurther) {
  const auto further = [](const std::string& model) {
    return output_of(concat(kBinDir + "/bert_train validation.tsv --task gap --gap-head segment "
                                      "--split 1,0,0 --epochs 1 --model ",
                            model, "/model --run further_", model, " --store further_", model,
                            ".sqlite"));
  };
  EXPECT_THAT(further("concat"), HasSubstr("(the head segment has token types of its own)"));
  EXPECT_THAT(further("segment"), Not(HasSubstr("newly initialized")));
}

// The file of the competition's second stage has no answers.
// docs/features.md, Evaluation and reports: Probabilities, and Kaggle's file | `predictions.csv`,
// `kaggle.csv`; `predict --out-format kaggle`
TEST_F(Gap, TheCompetitionsOwnFileGivesASubmission) {
  (void)output_of("cut -f1-6,8,9,11 test.tsv > stage2.tsv");
  const std::string submission =
      output_of(kBinDir + "/bert_train predict concat stage2.tsv --out-format kaggle");
  EXPECT_EQ(submission, read(path("concat/kaggle.csv")));
  const Ended trained =
      in_folder(kBinDir +
                "/bert_train development.tsv --task gap --dev validation.tsv --test stage2.tsv "
                "--model tiny --batch 8 --epochs 1 --gap-head concat --store stage2.sqlite "
                "--run stage2");
  EXPECT_EQ(trained.code, 0) << trained.output;
  const std::string own = read(path("stage2/kaggle.csv"));
  EXPECT_THAT(own, StartsWith("ID,A,B,NEITHER\ntest-1,"));
  EXPECT_EQ(std::count(own.begin(), own.end(), '\n'), 41);
  (void)output_of("cut -f1-6,8-11 test.tsv > half.tsv");
  const Ended half = in_folder(kBinDir + "/bert_train predict concat half.tsv");
  EXPECT_EQ(half.code, 65);
  EXPECT_THAT(half.output, HasSubstr("neither TRUE nor FALSE"));
}

TEST_F(Gap, ARowThatDoesNotFitIsRefused) {
  const Ended ended = in_folder(kBinDir +
                                "/bert_train prep development.tsv --task gap --max-length 50 "
                                "--store short.sqlite");
  EXPECT_EQ(ended.code, 65);
  EXPECT_THAT(ended.output, HasSubstr("development.tsv, row 1: development-1: it has "));
  EXPECT_THAT(ended.output, HasSubstr("hint: raise --max-length"));
  EXPECT_FALSE(std::filesystem::exists(path("short.sqlite")));
}

}  // namespace
}  // namespace bp::trainer

// examples/own_task: a program that extends bert_train.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/model_difference.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kProgram = kBinDir + "/own_task ";

class OwnTask : public test::FolderTest<> {
 protected:
  void SetUp() override {
    constexpr const char* kWords[] = {"report", "meeting", "budget", "about", "files", "the"};
    std::ofstream mails(path("mails.csv"));
    mails << "text,urgent,polite\n";
    for (int row = 0; row < 600; ++row) {
      const bool urgent = row % 3 == 0;
      const bool polite = row % 5 < 2;
      mails << kWords[row % 6] << (urgent ? " now " : " ") << kWords[row / 6 % 6]
            << (polite ? " please " : " ") << kWords[row / 36 % 6] << ' ' << row % 7
            << (urgent ? ",yes," : ",no,") << (polite ? "yes\n" : "no\n");
    }
  }
};

// docs/acceptance.md, Training: A program outside the tree adds a task, a model, an optimizer and a
// schedule.
// docs/features.md, Models and losses: A task, a model, an optimizer and a schedule of your own |
// `bp::trainer`, `examples/own_task`
TEST_F(OwnTask, LearnsAndPredictsWhatItEvaluates) {
  const std::string trained =
      output_of(kProgram +
                "mails.csv --task mail --model slim --optimizer signum --schedule root --lr 1e-3 "
                "--epochs 5 --run r");
  EXPECT_THAT(trained, HasSubstr("training slim (1 layers, hidden 64, "));
  EXPECT_THAT(trained, HasSubstr(", task mail) on "));
  const auto summary = nlohmann::json::parse(read(path("r/summary.json")));
  EXPECT_EQ(summary["task"], "mail");
  EXPECT_GE(summary["test"]["both"], 0.95);
  EXPECT_THAT(read(path("r/predictions.csv")),
              StartsWith("sample_id,text_id,urgent,polite,p_urgent,p_polite\n"));

  (void)output_of(kProgram + "eval r mails.csv --out e.csv");
  EXPECT_EQ(output_of(kProgram + "predict r mails.csv"), read(path("e.csv")));
  (void)output_of(kBinDir + "/bprun -n 3 " + kProgram + "eval r mails.csv --out ranks.csv");
  EXPECT_EQ(read(path("ranks.csv")), read(path("e.csv")));
  EXPECT_THAT(output_of("echo please | " + kProgram + "predict r -"), HasSubstr("\n1,1,,,0."));
}

TEST_F(OwnTask, ASweepKnowsItAsItKnowsBertTrain) {
  std::ofstream(path("space.yaml")) << "parameters: {lr: [1e-4, 1e-3]}\n";
  const std::string training =
      "mails.csv --task mail --model slim --steps 6 --eval-every 2 --best-metric both";
  const std::string by_itself =
      output_of(kProgram + "sweep space.yaml -q --folder own -- " + training);
  (void)output_of(kBinDir +
                  "/bprun sweep space.yaml -q --folder other --metric dev_both "
                  "--direction max -- " +
                  kProgram + training);
  for (const char* folder : {"own", "other"}) {
    const auto status =
        nlohmann::json::parse(output_of(concat(kBinDir + "/bprun sweep status --json ", folder)));
    EXPECT_EQ(status["counts"], nlohmann::json({{"finished", 2}})) << by_itself;
    EXPECT_EQ(status["metric"], "dev_both");
    EXPECT_TRUE(status["best"][0]["result"].is_number());
    (void)output_of(concat(kProgram, "eval ", folder, "/best mails.csv"));
  }
  std::ofstream(path("wrong.yaml")) << "parameters:\n  lr: [1e-4]\n  bach: [4]\n";
  const Ended wrong = in_folder(kBinDir +
                                "/bprun sweep wrong.yaml --metric dev_both --direction "
                                "max -- " +
                                kProgram + training);
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.output, HasSubstr("wrong.yaml, line 3: "));
  EXPECT_THAT(wrong.output, HasSubstr(" has no option --bach; did you mean batch?"));
}

TEST_F(OwnTask, EachLayoutTrainsTheSameModel) {
  const std::string common =
      "mails.csv --task mail --model slim --dropout 0 --lr 1e-4 --epsilon 1e-6 --warmup 0 "
      "--schedule cosine --steps 12 --run ";
  (void)output_of(concat(kProgram, common, "one --batch 32"));
  (void)output_of(
      concat(kBinDir + "/bprun -H localhost:3,127.0.0.1:1 ", kProgram, common, "four --batch 8"));
  EXPECT_LE(test::largest_difference(path("one/model/model.safetensors"),
                                     path("four/model/model.safetensors")),
            2e-5);
}

nlohmann::json figures_of(const std::string& metrics) {
  nlohmann::json all = nlohmann::json::array();
  std::istringstream lines(read(metrics));
  for (std::string line; std::getline(lines, line);) {
    const auto record = nlohmann::json::parse(line);
    if (!record.contains("split")) all.push_back(record.at("figures"));
  }
  return all;
}

// 20 steps are one epoch and a part of the second. Which mails are urgent does not depend on
// rounding, so that figure is the same to the last digit.
// docs/features.md, Evaluation and reports: Figures that a user's step reports | `losses()` of a
// task; metrics, summary, TensorBoard and the report show them
TEST_F(OwnTask, FiguresOfItsLossAreTheSameOnEachLayout) {
  const std::string common =
      "mails.csv --task mail --model slim --dropout 0 --lr 1e-4 --epsilon 1e-6 --warmup 0 "
      "--steps 20 --split 0.8,0.1,0.1 --tensorboard ";
  const std::string line = output_of(concat(kProgram, common, "t1 --run one --batch 32"));
  EXPECT_THAT(line, HasSubstr("; train right 0."));
  (void)output_of(concat(kBinDir + "/bprun -H localhost:3,127.0.0.1:1 ", kProgram, common,
                         "t4 --run four --batch 4 --accumulate 2"));
  const nlohmann::json one = figures_of(path("one/metrics.jsonl"));
  const nlohmann::json four = figures_of(path("four/metrics.jsonl"));
  ASSERT_EQ(one.size(), 20U);
  ASSERT_EQ(four.size(), 20U);
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i]["urgent"], four[i]["urgent"]) << "record " << i;
    EXPECT_NEAR(one[i]["right"], four[i]["right"], 0.05) << "record " << i;
  }

  const auto epochs = nlohmann::json::parse(read(path("one/summary.json")))["figures"];
  ASSERT_EQ(epochs.size(), 2U);
  EXPECT_EQ(epochs[0]["epoch"], 1);
  EXPECT_NEAR(epochs[0]["means"]["urgent"], 1 / 3.0, 0.03);
  const auto others = nlohmann::json::parse(read(path("four/summary.json")))["figures"];
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(epochs[i]["epoch"], others[i]["epoch"]);
    EXPECT_EQ(epochs[i]["means"]["urgent"], others[i]["means"]["urgent"]);
  }
  EXPECT_THAT(read(path("one/report.html")), HasSubstr("<h3>urgent</h3>"));
  EXPECT_THAT(output_of("cat t4/*"), HasSubstr("figures/urgent"));
}

// The second half of the run begins in the middle of the first epoch.
TEST_F(OwnTask, FiguresOfAnEpochSurviveAPause) {
  const std::string common =
      kProgram + "mails.csv --task mail --model slim --steps 24 --save-every 6 --keep 9 --run ";
  (void)output_of(common + "whole");
  (void)output_of(common + "half --resume whole/checkpoints/step-6");
  const auto whole = nlohmann::json::parse(read(path("whole/summary.json")));
  ASSERT_GE(whole["figures"].size(), 2U);
  EXPECT_EQ(whole["figures"], nlohmann::json::parse(read(path("half/summary.json")))["figures"]);
}

TEST_F(OwnTask, ContinuesToTheSameBits) {
  const std::string common =
      kProgram +
      "mails.csv --task mail --model slim --optimizer signum --schedule root "
      "--steps 12 --save-every 6 --keep 3 --run ";
  (void)output_of(common + "whole");
  (void)output_of(common + "half --resume whole/checkpoints/step-6");
  EXPECT_TRUE(read(path("half/model/model.safetensors")) ==
              read(path("whole/model/model.safetensors")));
  const Ended other =
      in_folder(kProgram +
                "mails.csv --task mail --model slim --steps 12 --run other --resume "
                "whole/checkpoints/step-6");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.output, HasSubstr("optimizer is signum in the checkpoint, adamw here"));
}

// docs/acceptance.md, Training: What is wrong with an added task, model, optimizer or schedule is
// named.
// docs/features.md, Use: Templates of projects | `examples/`
TEST_F(OwnTask, NamesWhatIsWrong) {
  const Ended misspelt = in_folder(kProgram + "mails.csv --task mial");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.output, HasSubstr("did you mean 'mail'?"));
  (void)output_of("sed -i 4s/no/maybe/ mails.csv");
  const Ended wrong = in_folder(kProgram + "mails.csv --task mail --run w");
  EXPECT_EQ(wrong.code, 65);
  EXPECT_THAT(wrong.output,
              HasSubstr("mails.csv, row 3 (line 4): urgent 'maybe' is neither yes nor no\nhint: "));
  const Ended checked = in_folder(kProgram + "check mails.csv --task mail");
  EXPECT_EQ(checked.code, 65);
  EXPECT_THAT(checked.output, HasSubstr("with a wrong answer   1, the first: mails.csv, row 3"));
  std::ofstream(path("some.csv")) << "text,urgent,polite\na,yes,\n";
  EXPECT_THAT(in_folder(kProgram + "prep some.csv --task mail").output,
              HasSubstr("some.csv, row 1 (line 2): has only some of urgent, polite"));
}

}  // namespace
}  // namespace bp::trainer

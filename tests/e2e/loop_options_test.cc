// What ends a run early, which weights it keeps, and how it saves, through the program that users
// run, on one rank and on several.
// docs/acceptance.md, Training: A run that ends early ends on all ranks after one step, with the
// same weights.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/model_difference.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::Not;

class LoopOptions : public test::FolderTest<> {
 protected:
  void SetUp() override {
    std::ofstream file(path("colours.csv"));
    file << "text,label\n";
    for (int row = 0; row < 300; ++row) {
      file << "the stone " << row % 7 << (row % 3 == 0 ? " is red " : " looks blue ") << row % 5
           << (row % 4 == 0 ? ",warm\n" : ",cold\n");
    }
  }
  static std::string command(const std::string& options, const std::string& placing = "") {
    const std::string program =
        placing.empty() ? kBinDir + "/bert_train " : kBinDir + "/bprun " + placing + " bert_train ";
    return concat("OMP_NUM_THREADS=1 ", program, "colours.csv --max-length 16 ", options);
  }
  nlohmann::json summary_of(const std::string& run) {
    return nlohmann::json::parse(read(path(run + "/summary.json")));
  }
};

TEST_F(LoopOptions, TheBestWeightsAreTheSameOnEachLayoutAndOnAllRanks) {
  // The rate is so high that the loss of dev rises again.
  const std::string common =
      "--dropout 0 --warmup 0 --schedule constant --lr 3e-3 --steps 40 --eval-every 2 "
      "--best-metric loss --patience 3 --min-improvement 0.001 --final best --keep-best 3 ";
  struct Layout {
    const char* run;
    const char* placing;
    const char* batch;
  };
  for (const Layout& layout : {Layout{"one", "", "--batch 32 "},
                               Layout{"four", "-H localhost:2,127.0.0.1:2", "--batch 8 "},
                               Layout{"uneven", "-H localhost:3,127.0.0.1:1", "--batch 8 "}}) {
    const std::string run = layout.run;
    SCOPED_TRACE(run);
    const Ended ended =
        in_folder(command(concat(common, layout.batch, "--run ", run), layout.placing));
    ASSERT_EQ(ended.code, 0) << ended.output;
    const auto summary = summary_of(run);
    EXPECT_EQ(summary["ended"], "patience");
    EXPECT_EQ(summary["best_metric"], "loss");
    EXPECT_EQ(summary["final"]["weights"], "best");
    const int step = summary["final"]["step"];
    EXPECT_LT(step, summary["steps"].get<int>());
    EXPECT_EQ(summary["final"], summary_of("one")["final"]);
    EXPECT_THAT(ended.output, HasSubstr(concat("the model is that of step ", step, ", ")));
    EXPECT_THAT(
        ended.output,
        HasSubstr("the loss of dev did not improve in 3 evaluations in a row (--patience 3)"));
    EXPECT_THAT(
        read(path(run + "/report.html")),
        HasSubstr(concat("The model is that of step ", step, ", the best on dev by loss.")));
    // A page that is written later says the same.
    (void)output_of(concat(kBinDir + "/bert_train report ", run, " --out again.html"));
    const std::string again_page = read(path("again.html"));
    EXPECT_THAT(again_page, HasSubstr(concat("The model is that of step ", step,
                                             ", the best on dev by loss.")));
    EXPECT_THAT(again_page, HasSubstr(" It ended early: the loss of dev did not improve in 3 "));
    EXPECT_EQ(fs::read_symlink(path(run + "/checkpoints/best")).string(), concat("step-", step));
    EXPECT_TRUE(read(path(run + "/model/model.safetensors")) ==
                read(path(run + "/checkpoints/best/model.safetensors")));
    // A tenth of a step at this rate, which lets rounding grow.
    EXPECT_LE(test::largest_difference(path(run + "/model/model.safetensors"),
                                       path("one/model/model.safetensors")),
              3e-4);
    // All ranks scored the test split, each its share, with the weights that were saved.
    const Ended again = in_folder(concat(kBinDir + "/bert_train eval ", run, " --out p.csv"));
    ASSERT_EQ(again.code, 0) << again.output;
    EXPECT_EQ(read(path("p.csv")), read(path(run + "/predictions.csv")));
  }
}

TEST_F(LoopOptions, ARunThatEndedEarlyIsFinishedAndContinuesWithMorePatience) {
  const std::string options =
      "--lr 1e-6 --epochs 2.5 --batch 16 --eval-every 3 --patience 1 --min-improvement 1 --run r ";
  std::ofstream(path("patient.yaml")) << "patience: 2\nbest-metric: mcc\n";
  const Ended ended = in_folder(command(options));
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(summary_of("r")["steps"], 6);
  const Ended again = in_folder(command(options));
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output,
              HasSubstr("the run in r is finished: it ended after step 6, because the accuracy of "
                        "dev did not improve in 1 evaluation (--patience 1)"));
  EXPECT_TRUE(fs::exists(path("r/report.html"))) << "a refused run keeps its results";
  std::string patient = options;
  patient.replace(patient.find("--patience 1"), 12, "--patience 2");
  const Ended more = in_folder(command(patient));
  ASSERT_EQ(more.code, 0) << more.output;
  EXPECT_THAT(more.output, HasSubstr("patience is 1 in the checkpoint, 2 here"));
  EXPECT_EQ(summary_of("r")["steps"], 9);
  // Another score counts from here, and no limit leads to the last step: 2.5 epochs of 15 steps.
  std::string without = options;
  without.replace(without.find("--patience 1 --min-improvement 1"), 32, "--config patient.yaml");
  const Ended other = in_folder(command(without));
  ASSERT_EQ(other.code, 0) << other.output;
  EXPECT_THAT(other.output, HasSubstr("best-metric is accuracy in the checkpoint, mcc here"));
  EXPECT_EQ(summary_of("r")["steps"], 18) << "three evaluations: one to compare with, and two";
  without.replace(without.find("--config patient.yaml"), 21, "");
  ASSERT_EQ(in_folder(command(without)).code, 0);
  EXPECT_EQ(summary_of("r")["ended"], "steps");
  EXPECT_EQ(summary_of("r")["steps"], 38);
}

TEST_F(LoopOptions, MaxTimeFinishesTheRun) {
  const Ended ended =
      in_folder(command("--steps 1000000 --batch 2 --max-time 2s --save-every 1s --run r",
                        "-H localhost:2,127.0.0.1:1"));
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(summary_of("r")["ended"], "max-time");
  EXPECT_THAT(ended.output, HasSubstr("the 0:02 of --max-time have passed"));
  EXPECT_TRUE(fs::exists(path("r/model/model.safetensors")));
  const Ended again = in_folder(command("--steps 1000000 --batch 2 --max-time 2s --run r"));
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output, HasSubstr("the 0:02 of --max-time have passed"));
}

TEST_F(LoopOptions, AveragesFrozenPartsAndRatesOfLayersAreTheSameOnEachLayoutAndAfterAPause) {
  const std::string common =
      "--dropout 0 --warmup 0 --lr 1e-3 --steps 12 --eval-every 4 --save-every 6 --keep 3 --ema "
      "0.8 "
      "--freeze embeddings --layer-decay 0.5 ";
  const std::string uneven = "-H localhost:3,127.0.0.1:1";
  (void)output_of(command(common + "--batch 32 --run one"));
  (void)output_of(command(common + "--batch 8 --run four", "-H localhost:2,127.0.0.1:2"));
  (void)output_of(command(common + "--batch 8 --run uneven", uneven));
  for (const char* run : {"four", "uneven"}) {
    EXPECT_LE(test::largest_difference(path(concat(run, "/model/model.safetensors")),
                                       path("one/model/model.safetensors")),
              2e-5);
  }
  (void)output_of(
      command(common + "--batch 8 --run rest --resume uneven/checkpoints/step-6", uneven));
  EXPECT_TRUE(read(path("rest/model/model.safetensors")) ==
              read(path("uneven/model/model.safetensors")));
  // The averages are what dev was scored with, and what the checkpoint holds as its model.
  EXPECT_TRUE(read(path("uneven/model/model.safetensors")) ==
              read(path("uneven/checkpoints/step-12/model.safetensors")));
  const auto dev = summary_of("uneven")["dev"];
  const std::string again =
      output_of(kBinDir + "/bert_train eval uneven/checkpoints/latest --on dev");
  EXPECT_THAT(again, HasSubstr(concat("loss ", fixed(dev["loss"].get<double>(), 4))));
  // Another choice of frozen parts is a difference that is allowed.
  const Ended thawed =
      in_folder(command("--dropout 0 --warmup 0 --lr 1e-3 --steps 12 --batch 8 --ema 0.8 --freeze "
                        "pooler,1 --run thawed "
                        "--resume uneven/checkpoints/step-6",
                        uneven));
  ASSERT_EQ(thawed.code, 0) << thawed.output;
  EXPECT_THAT(thawed.output, HasSubstr("freeze is embeddings in the checkpoint, pooler,1 here"));
  const Ended none = in_folder(command("--freeze 1-2"));
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.output, HasSubstr("--freeze: there is no layer 2 in a model with 2 layers"));
}

TEST_F(LoopOptions, WhatDependsOnTheEpochIsTheSameOnUnevenHosts) {
  const std::string common =
      "--dropout 0 --lr 1e-3,5e-4 --epochs 2 --max-tokens 48 --curriculum 1 --unfreeze-every 0.5e "
      "--swa-from 0.5 --checkpoint-activations --check-gradients 2 --detect-anomaly ";
  (void)output_of(command(common + "--accumulate 4,8 --run one"));
  (void)output_of(command(common + "--accumulate 1,2 --run uneven", "-H localhost:3,127.0.0.1:1"));
  EXPECT_EQ(summary_of("uneven")["steps"], summary_of("one")["steps"]);
  EXPECT_LE(test::largest_difference(path("uneven/model/model.safetensors"),
                                     path("one/model/model.safetensors")),
            2e-5);
}

// docs/features.md, Loop and checkpoints: Resuming from a file, with resets and other options |
// `--resume PATH`, `--reset-schedule`, `--reset-optimizer`, `--reset-data`, `--reset-meters`
TEST_F(LoopOptions, ResetsBeginAgainOnce) {
  const std::string common = "--lr 1e-3 --batch 16 ";  // 15 steps an epoch
  const std::string resets =
      common +
      "--optimizer lion --run second --reset-schedule --reset-optimizer --reset-data "
      "--reset-meters ";
  const Ended early = in_folder(command(resets));
  EXPECT_EQ(early.code, 2);
  EXPECT_THAT(early.output, HasSubstr("--reset-schedule has no effect: there is no checkpoint to "
                                      "resume from\nhint: add --resume PATH"));
  (void)output_of(command(common + "--epochs 2 --run first"));
  const std::string second = output_of(command(resets + "--epochs 2 --resume first"));
  for (const char* line :
       {"the optimizer begins again (--reset-optimizer)",
        "the schedule begins again (--reset-schedule)", "the data begins again (--reset-data)",
        "totals and best scores begin again (--reset-meters)"}) {
    EXPECT_THAT(second, HasSubstr(line));
  }
  EXPECT_EQ(summary_of("second")["steps"], 60);
  EXPECT_EQ(summary_of("second")["epochs"], 2.0);
  std::ifstream metrics(path("second/metrics.jsonl"));
  std::string line;
  std::getline(metrics, line);
  const auto record = nlohmann::json::parse(line);
  EXPECT_EQ(record["step"], 31);
  EXPECT_DOUBLE_EQ(record["lr"].get<double>(), 1e-3 / 4) << "the first of three steps of warm-up";
  EXPECT_EQ(record["samples"], 16);
  const std::string third = output_of(command(resets + "--epochs 3"));
  EXPECT_THAT(third, HasSubstr("resuming from second/checkpoints/step-60"));
  EXPECT_THAT(third, Not(HasSubstr("begins again")));
  EXPECT_EQ(summary_of("second")["steps"], 75);
}

TEST_F(LoopOptions, AFastDevRunTriesEverythingAndKeepsNothing) {
  fs::create_directory(path("tmp"));
  const std::string prefix = "TMPDIR=$PWD/tmp ";
  const Ended ended =
      in_folder(prefix + command("--fast-dev-run --epochs 50 --patience 1 --final best --run r",
                                 "-H localhost:1,127.0.0.1:1"));
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("step 2, epoch "));
  EXPECT_THAT(ended.output,
              HasSubstr("the fast dev run worked: 2 steps, evaluations of few samples, "
                        "the model and the report; nothing of it is kept"));
  EXPECT_FALSE(fs::exists(path("r")));
  EXPECT_TRUE(fs::is_empty(path("tmp")));
  const Ended wrong = in_folder(prefix + command("--fast-dev-run --freeze 7"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(fs::is_empty(path("tmp"))) << "also after an error";
}

// docs/features.md, Splits and batches: Only the first rows, for a quick look | `--limit`,
// `--overfit`, `--fast-dev-run`
TEST_F(LoopOptions, OverfitTrainsAndEvaluatesTheSameSamples) {
  const Ended ended =
      in_folder(command("--overfit 24 --steps 200 --batch 8 --lr 1e-3 --dropout 0 --eval-every 50 "
                        "--eval-first --run r"));
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("step 0, epoch 0: train accuracy "));
  EXPECT_THAT(ended.output, HasSubstr("step 50, epoch 16.67: train accuracy "));
  const auto summary = summary_of("r");
  EXPECT_EQ(summary["overfit"]["accuracy"], 1.0) << "24 samples can be learned by heart";
  EXPECT_FALSE(summary.contains("dev"));
  EXPECT_FALSE(summary.contains("test"));
  const std::string predictions = read(path("r/predictions.csv"));
  EXPECT_EQ(std::ranges::count(predictions, '\n'), 25);
}

// docs/features.md, Loop and checkpoints: The checkpoints that stay | `--keep`, `--keep-best`,
// `--keep-every`
TEST_F(LoopOptions, MultiplesOfAStepAndTheLastCheckpointsStay) {
  (void)output_of(command("--steps 10 --save-every 1 --keep 1 --keep-every 4 --run r"));
  for (const int step : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
    // The only evaluation is the one at the end.
    EXPECT_EQ(fs::exists(path(concat("r/checkpoints/step-", step))), step % 4 == 0 || step == 10)
        << step;
  }
}

TEST_F(LoopOptions, WithoutCheckpointsOnlyTheModelStays) {
  const Ended ended = in_folder(command("--steps 3 --save-every none --run r"));
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_FALSE(fs::exists(path("r/checkpoints")));
  EXPECT_TRUE(fs::exists(path("r/model/model.safetensors")));
}

TEST_F(LoopOptions, WrongOnesAreRefusedInOneLine) {
  struct Wrong {
    const char* options;
    const char* line;
  };
  for (const Wrong& wrong :
       {Wrong{"--best-metric acuracy",
              "bert_train: --best-metric: 'acuracy' is not a score of the task classify, which has "
              "accuracy, loss, mcc, kappa, f1_macro, f1_weighted, precision_macro, recall_macro, "
              "log_loss, roc_auc, brier, ece\nhint: did you mean 'accuracy'?\n"},
        Wrong{"--save-every none --final best",
              "--final best needs checkpoints, and --save-every none writes none"},
        Wrong{"--min-improvement 0.1", "--min-improvement has no effect without --patience"},
        Wrong{"--epochs 0", "--epochs: '0' is not a number between 0.001 and 1e+06"},
        Wrong{"--error-feedback --wire bf16 --save-every 5m",
              "--save-every TIME does not go with --error-feedback"},
        Wrong{"--wire int8 --save-every 5m", "--save-every TIME does not go with --wire int8"},
        Wrong{"--batch 8 --max-tokens 64", "--batch has no effect with --max-tokens"},
        Wrong{"--batch auto", "--batch auto needs the number of samples of a step"},
        Wrong{"--total-batch 8 --accumulate 2",
              "--total-batch and --accumulate both decide the samples of a step"},
        Wrong{"--total-batch 8 --max-tokens 64",
              "--total-batch and --max-tokens both decide the samples of a step"},
        Wrong{"--max-tokens 5", "--max-tokens 5: a sample has "},
        Wrong{"--epochs 2 --accumulate 1,2,4",
              "--accumulate has 3 values, and the run 2 epochs\nhint: give one value for each"},
        Wrong{"--epochs 2 --force-anneal 3",
              "--force-anneal 3 has no effect: the run has 2 epochs"},
        Wrong{"--unfreeze-every 5m", "--unfreeze-every: '5m' is not a number of steps or epochs"},
        Wrong{"--ema 0.9 --swa-from 0.5", "--swa-from and --ema are two averages of the weights"},
        Wrong{"--load-best-model-at-end", "here it is called --final best"}}) {
    const Ended ended = in_folder(command(wrong.options));
    EXPECT_EQ(ended.code, 2) << wrong.options;
    EXPECT_THAT(ended.output, HasSubstr(wrong.line));
    EXPECT_FALSE(fs::exists(path("runs/colours")));
  }
  const Ended eval = in_folder(kBinDir + "/bert_train eval r --patience 3");
  EXPECT_EQ(eval.code, 2);
  EXPECT_THAT(eval.output, HasSubstr("unknown option --patience"));
  const Ended no_dev =
      in_folder(command("--split 0.9,0,0.1 --target-score 1 --store no_dev.sqlite"));
  EXPECT_EQ(no_dev.code, 2);
  EXPECT_THAT(no_dev.output,
              HasSubstr("--target-score compares scores of the dev split, which is empty"));
}

}  // namespace
}  // namespace bp::trainer

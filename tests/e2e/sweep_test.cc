// `bert_train sweep` as a user runs it: what it fills in, and that a kill changes no model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "tests/e2e/shell_folder.h"
#include "tests/support/places.h"
#include "trainer/report/shown_text.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;

class BertTrainSweep : public test::FolderSuite<BertTrainSweep> {
 protected:
  static void SetUpTestSuite() {
    make_folder();
    std::ofstream csv(path("data.csv"));
    csv << "text,label,stars\n";
    for (int row = 0; row < 60; ++row) {
      csv << (row % 3 == 0 ? "bad" : "good") << " row " << row << ','
          << (row % 3 == 0 ? "no" : "yes") << ',' << row % 5 << '\n';
    }
    std::ofstream(path("space.yaml")) << "parameters: {lr: [1e-3, 1e-4], batch: [4, 8]}\n";
    std::ofstream(path("one.yaml")) << "parameters: {lr: [1e-3]}\n";
  }

  static std::string sweep(const std::string& space, const std::string& training) {
    return concat(kBinDir + "/bert_train sweep ", space,
                  " -- data.csv --text text --model tiny --max-length 16 ", training);
  }
  static std::string grid(const std::string& folder) {
    return sweep(concat("space.yaml -q -n 2 --folder ", folder),
                 "--label label --epochs 3 --save-every 5");
  }
  static nlohmann::json status(const std::string& folder) {
    return nlohmann::json::parse(
        output_of(concat(kBinDir + "/bprun sweep status --json ", folder)));
  }
};

// docs/features.md, Searches: A search resumed, also after `kill -9` or a lost host | the same
// command
TEST_F(BertTrainSweep, ModelsAfterKillsEqualThoseOfAnUndisturbedSweep) {
  const Ended whole = in_folder(grid("whole"));
  ASSERT_EQ(whole.code, 0) << whole.output;
  EXPECT_EQ(status("whole")["counts"], nlohmann::json({{"finished", 4}}));
  for (const int trial : {0, 2}) {  // while it trains for the second epoch
    const Ended killed = in_folder(concat(
        "{ ", grid("killed"),
        " >log 2>&1 & pid=$!; for i in $(seq 1200); do grep -q step.:[12][0-9], ", "killed/trials/",
        trial, "/run/metrics.jsonl 2>/dev/null && break; sleep 0.02; done; ",
        "kill -9 $pid && echo killed; }"));
    ASSERT_EQ(killed.output, "killed\n");
  }
  const Ended last = in_folder(grid("killed"));
  ASSERT_EQ(last.code, 0) << last.output;
  EXPECT_EQ(status("killed")["counts"], nlohmann::json({{"finished", 4}}));
  for (int trial = 0; trial < 4; ++trial) {
    const std::string model = concat("/trials/", trial, "/run/model/model.safetensors");
    EXPECT_NE(read(path("whole" + model)), "");
    EXPECT_TRUE(read(path("whole" + model)) == read(path("killed" + model))) << trial;
  }
}

TEST_F(BertTrainSweep, KnowsTheScoreOfATask) {
  const Ended regress = in_folder(
      sweep("one.yaml -q --folder regress",
            "--task regress --target stars --steps 2 --best-metric mae --store stars.sqlite"));
  ASSERT_EQ(regress.code, 0) << regress.output;
  const nlohmann::json status = BertTrainSweep::status("regress");
  EXPECT_EQ(status["metric"], "dev_mae");
  EXPECT_EQ(status["direction"], "min");
  EXPECT_TRUE(status["best"][0]["result"].is_number());
}

// The labels are random, so a model that learns them by heart is worse on dev from then on.
TEST_F(BertTrainSweep, TheBestModelHasTheScoreThatTheSweepSays) {
  std::ofstream csv(path("noise.csv"));
  csv << "text,label\n";
  for (unsigned row = 0, random = 7; row < 100; ++row) {
    csv << row % 9 << ' ' << row % 11 << ' ' << row % 7 << ',';
    random = random * 1103515245U + 12345U;
    csv << (random >> 16U) % 2 << '\n';
  }
  csv.close();
  std::ofstream(path("loss.yaml")) << "metric: dev_loss\nparameters: {lr: [1e-3, 5e-3]}\n";
  const Ended ended = in_folder(
      kBinDir +
      "/bprun sweep loss.yaml -q -n 2 --folder loss -- bert_train noise.csv --max-length 16 "
      "--epochs 12 --dropout 0 --store noise.sqlite");
  ASSERT_EQ(ended.code, 0) << ended.output;
  const auto best = status("loss")["best"][0];
  EXPECT_LT(best["step"], best["last_step"]) << "the data does not make the last step a worse one";
  const std::string loss = concat("loss ", fixed(best["result"].get<double>(), 4));
  EXPECT_THAT(output_of(kBinDir + "/bert_train eval loss/best --on dev"), HasSubstr(loss));
  const std::string run = concat("loss/trials/", best["trial"].get<int>(), "/run");
  const auto summary = nlohmann::json::parse(read(path(run + "/summary.json")));
  EXPECT_EQ(summary["final"]["step"], best["step"]);
  EXPECT_THAT(read(path(run + "/config.yaml")), HasSubstr("best-metric: loss"));
  EXPECT_THAT(read(path(run + "/config.yaml")), HasSubstr("final: best"));
}

// docs/features.md, Searches: Models over a size skipped | `--max-parameters`, exit code 77
TEST_F(BertTrainSweep, SkipsModelsOverASize) {
  std::ofstream(path("sizes.yaml")) << "parameters: {model: [mini, tiny]}\n";
  const Ended ended =
      in_folder(kBinDir +
                "/bert_train sweep sizes.yaml -q --folder sizes -- data.csv --text text "
                "--label label --max-length 16 --steps 2 --max-parameters 1000000");
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(status("sizes")["counts"], nlohmann::json({{"finished", 1}, {"skipped", 1}}));
  EXPECT_THAT(output_of(kBinDir + "/bprun sweep status --csv sizes"),
              ::testing::ContainsRegex("0,skipped,.*bert_train: the model has [0-9,]+ parameters, "
                                       "more than 1,000,000 .--max-parameters."));
  EXPECT_EQ(in_folder("test -e sizes/trials/0/run").code, 1) << "no run was begun";
}

// The examples of docs/sweep.md, on text files that have no store yet.
TEST_F(BertTrainSweep, OptionsOfTheDataAndRepeatsNeedNoPreparedStore) {
  std::ofstream(path("zip.yaml")) << "zip:\n  - {model: [tiny, mini], max-length: [128, 256]}\n"
                                     "parameters:\n  lr: [1e-5, 3e-5, 1e-4]\n";
  std::ofstream(path("repeat.yaml")) << "repeat: 3\nparameters: {lr: [1e-3, 5e-4]}\n";
  (void)output_of("cp data.csv zip.csv && cp data.csv repeat.csv");
  for (const char* name : {"zip", "repeat"}) {
    const Ended ended = in_folder(
        concat(kBinDir + "/bert_train sweep ", name, ".yaml -q -n 2 -- ", name, ".csv --steps 2"));
    EXPECT_EQ(ended.code, 0) << ended.output;
    EXPECT_EQ(status(concat("sweeps/", name))["counts"], nlohmann::json({{"finished", 6}}));
  }
  EXPECT_EQ(output_of("ls zip*.sqlite | wc -l"), "2\n");
  EXPECT_EQ(output_of("ls repeat*.sqlite | wc -l"), "3\n") << "one for each seed of the split";
  (void)output_of("cp data.csv same.csv && " + kBinDir +
                  "/bert_train sweep repeat.yaml -q -n 2 --folder same -- same.csv --steps 2 "
                  "--data-seed 1");
  EXPECT_EQ(output_of("ls same*.sqlite"), "same.sqlite\n");
}

// As on a host whose files the sweep does not see.
TEST_F(BertTrainSweep, ReadsTheMetricFromStdoutWhereItSeesNoFile) {
  std::ofstream(path("far.yaml")) << "metric: dev_accuracy\nparameters: {epochs: [1, 2]}\n";
  const Ended ended =
      in_folder(kBinDir + "/bprun sweep far.yaml -q --folder far -- sh -c \"" + kBinDir +
                "/bert_train data.csv --text text --label label --max-length 16 "
                "--model tiny --run elsewhere/{trial} --epochs {epochs}\"");
  ASSERT_EQ(ended.code, 0) << ended.output << read(path("far/trials/0/stderr"));
  for (const auto& trial : status("far")["best"]) {
    std::istringstream lines(
        read(path(concat("elsewhere/", trial["trial"].get<int>(), "/metrics.jsonl"))));
    double best = 0;
    for (std::string line; std::getline(lines, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record.value("split", "") == "dev") {
        best = std::max(best, record["accuracy"].get<double>());
      }
    }
    EXPECT_GT(best, 0);
    EXPECT_EQ(trial["result"], best);
  }
}

// docs/features.md, Searches: The time that a search takes, before it starts | `bprun sweep
// --dry-run --estimate`
TEST_F(BertTrainSweep, EstimatesItsTimeByAFewSteps) {
  const std::string out = output_of(
      sweep("space.yaml --dry-run --estimate -n 2 --folder none", "--label label --steps 50"));
  EXPECT_THAT(out, ::testing::ContainsRegex(
                       "\ntime: [0-9.]+ s a trial, by bert_train estimate of trial 0 .50 steps, "
                       "without evaluations.; about [0-9.]+ s for 4 trials\n"));
  EXPECT_EQ(in_folder("test -e none").code, 1) << "nothing stays";
}

TEST_F(BertTrainSweep, RefusesWhatNoTrialCouldRun) {
  const auto refusal = [](const std::string& words) {
    const Ended ended = in_folder(concat(kBinDir + "/bert_train sweep ", words));
    EXPECT_EQ(ended.code, 2) << words;
    return ended.output;
  };
  EXPECT_THAT(refusal(""), HasSubstr("SPACE is missing"));
  EXPECT_THAT(refusal("one.yaml"), HasSubstr("-- and DATA are missing"));
  EXPECT_THAT(refusal("one.yaml -- data.csv --lables x"), HasSubstr("--lables"));
  EXPECT_THAT(refusal("one.yaml -- stop runs/x"), HasSubstr("a sweep trains: stop cannot"));
  EXPECT_THAT(in_folder("WORLD_SIZE=2 RANK=0 MASTER_ADDR=localhost MASTER_PORT=1 " + kBinDir +
                        "/bert_train sweep one.yaml -- data.csv")
                  .output,
              HasSubstr("starts its trials through bprun itself"));
}

}  // namespace
}  // namespace bp::trainer

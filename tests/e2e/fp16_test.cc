// Training in fp16, through the programs that users run. tests/e2e/tasks_test.cc trains in fp16 on
// several layouts of ranks.
#include <gmock/gmock.h>

#include <cmath>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/e2e/trained_run.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::Not;

struct Step {
  double loss_scale = 0;
  bool skipped = false;
};

class Fp16 : public test::TrainedRun {
 protected:
  static nlohmann::json summary(const std::string& run) {
    return nlohmann::json::parse(read(path(run + "/summary.json")));
  }
  static std::vector<Step> steps(const std::string& run) {
    std::vector<Step> all;
    std::ifstream in(path(run + "/metrics.jsonl"));
    for (std::string line; std::getline(in, line);) {
      const auto record = nlohmann::json::parse(line);
      if (record.contains("split")) continue;
      all.push_back({record["loss_scale"].get<double>(), record["skipped"] == 1});
    }
    return all;
  }
};

// docs/acceptance.md, Precision: Training in fp16 with fp32 weights reaches the scores of fp32.
// docs/features.md, Optimization: bf16, fp16 with loss scaling, or the fastest type of the
// processors or GPUs | `--precision`, `--loss-scale`
TEST_F(Fp16, ReachesTheScoresOfFp32) {
  write_rows("many.csv", 2000, 0);
  for (const std::string precision : {"fp32", "fp16"}) {
    const Ended ended = bert_train(concat("many.csv --max-length 32 --epochs 2 --precision ",
                                          precision, " --run ", precision));
    ASSERT_EQ(ended.code, 0) << ended.output;
  }
  const auto right = summary("fp32");
  const auto halved = summary("fp16");
  EXPECT_GE(right["test"]["accuracy"], 0.95);
  EXPECT_NEAR(halved["test"]["accuracy"], right["test"]["accuracy"].get<double>(), 0.02);
  EXPECT_NEAR(halved["test"]["loss"], right["test"]["loss"].get<double>(), 0.02);
  EXPECT_FALSE(read(path("fp16/model/model.safetensors")) ==
               read(path("fp32/model/model.safetensors")))
      << "fp16 must round";
  EXPECT_THAT(read(path("fp16/config.yaml")), HasSubstr("loss-scale: 65536"));
  EXPECT_EQ(steps("fp16").front().loss_scale, 65536);
}

TEST_F(Fp16, ARunContinuesToTheSameBitsAmidSkippedSteps) {
  const std::string options =
      "data.csv --max-length 32 --precision fp16 --loss-scale 1e9 --steps 24 --save-every 4 "
      "--keep 9 --run ";
  const Ended whole = bert_train(options + "whole");
  ASSERT_EQ(whole.code, 0) << whole.output;
  EXPECT_THAT(whole.output, HasSubstr("step 1: skipped, because the gradient overflowed (its norm "
                                      "is nan, the loss scale 1e+09)"));
  const std::vector<Step> all = steps("whole");
  ASSERT_EQ(all.size(), 24U);
  EXPECT_TRUE(all[3].skipped && all[4].skipped) << "the checkpoint must lie between skipped steps";
  EXPECT_FALSE(all.back().skipped) << "the factor must have fallen far enough";
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_EQ(all[i].loss_scale, all[i - 1].loss_scale * (all[i - 1].skipped ? 0.5 : 1)) << i;
  }

  // The run continues with the factor of its checkpoint, whatever the command line says.
  const Ended resumed = bert_train(options + "rest --resume whole/checkpoints/step-4");
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.output, Not(HasSubstr("may differ")));
  EXPECT_TRUE(read(path("rest/model/model.safetensors")) ==
              read(path("whole/model/model.safetensors")));
  EXPECT_EQ(summary("rest")["skipped_steps"], summary("whole")["skipped_steps"]);
  EXPECT_EQ(steps("rest").front().loss_scale, all[4].loss_scale);
}

// From checkpoints without a factor to fp16 and back.
TEST_F(Fp16, ARunMayChangeItsPrecision) {
  const std::string options = "data.csv --max-length 32 --steps 6 --save-every 2 --keep 9 --run ";
  ASSERT_EQ(bert_train(options + "first").code, 0);
  const Ended halved =
      bert_train(options + "second --precision fp16 --resume first/checkpoints/step-2");
  ASSERT_EQ(halved.code, 0) << halved.output;
  EXPECT_THAT(halved.output, HasSubstr("precision is fp32 in the checkpoint, fp16 here"));
  EXPECT_EQ(steps("second").front().loss_scale, 65536);
  const Ended again = bert_train(options + "third --resume second/checkpoints/step-4");
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_THAT(read(path("third/metrics.jsonl")), Not(HasSubstr("loss_scale")));
}

}  // namespace
}  // namespace bp::trainer

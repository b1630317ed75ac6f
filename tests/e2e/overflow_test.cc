// Gradients that overflow on an f16 wire or with loss scaling, through the programs that users run.
// docs/acceptance.md, Precision: A gradient that overflows on an f16 wire skips its step.
#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>

#include <nlohmann/json.hpp>

#include "tests/e2e/trained_run.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::read;
using ::testing::HasSubstr;
using ::testing::Not;

class Overflow : public test::TrainedRun {
 protected:
  // Copies the run's model with its classifier multiplied by -2^40. The copy is wrong on every row:
  // the loss is finite, but gradients are beyond 65,504.
  static void make_huge_model() {
    if (std::filesystem::exists(path("huge"))) return;
    std::filesystem::copy(path("r/model"), path("huge"));
    std::string file = read(path("huge/model.safetensors"));
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof(length));
    const auto header = nlohmann::json::parse(file.substr(sizeof(length), length));
    const auto& offsets = header["classifier.weight"]["data_offsets"];
    for (std::size_t at = offsets[0]; at < offsets[1]; at += sizeof(float)) {
      char* const place = file.data() + sizeof(length) + length + at;
      float value = 0;
      std::memcpy(&value, place, sizeof(value));
      value *= -0x1p40F;
      std::memcpy(place, &value, sizeof(value));
    }
    std::ofstream(path("huge/model.safetensors"), std::ios::binary) << file;
  }
  static Ended train(const std::string& options) {
    return in_folder(
        concat(kBinDir + "/bprun -n 2 bert_train data.csv --model huge --max-length 32 --batch "
                         "4 --store huge.sqlite ",
               options));
  }
};

TEST_F(Overflow, StepsAreSkippedAndCountedAndTheRunContinues) {
  make_huge_model();
  const Ended ended = train("--wire fp16 --steps 10 --run few");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("step 1: skipped, because the gradient overflowed"));
  EXPECT_THAT(ended.output, HasSubstr("  10 skipped"));
  const auto summary = nlohmann::json::parse(read(path("few/summary.json")));
  EXPECT_EQ(summary["skipped_steps"], 10);
  EXPECT_EQ(summary["steps"], 10);
  EXPECT_THAT(read(path("few/report.html")), HasSubstr("10 of them skipped for overflow"));
  EXPECT_EQ(read(path("few/model/model.safetensors")), read(path("huge/model.safetensors")))
      << "no step may make an update";
}

TEST_F(Overflow, TwentyInARowEndTheRunWithOneLine) {
  make_huge_model();
  const Ended ended = train("--wire fp16 --steps 50 --run many");
  EXPECT_EQ(ended.code, 70) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("bert_train: the norm of the gradient at step 20 is "));
  EXPECT_THAT(ended.output, HasSubstr(", as in the 19 steps before it"));
  EXPECT_THAT(ended.output, HasSubstr("--wire fp32"));
  EXPECT_TRUE(std::filesystem::exists(path("many/bug/step-20.json")));
}

TEST_F(Overflow, AWiderWireSkipsNothing) {
  make_huge_model();
  const Ended ended = train("--wire bf16 --steps 10 --run wide");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, Not(HasSubstr("skipped")));
}

TEST_F(Overflow, ALossScaleThatIsTooLargeFallsAndTheRunLearns) {
  const Ended ended =
      in_folder(kBinDir +
                "/bprun -n 2 bert_train data.csv --model tiny --max-length 32 --batch 8 "
                "--wire fp16 --loss-scale 1e12 --steps 80 --run scaled");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("step 1: skipped, because the gradient overflowed (its norm "
                                      "is nan, the loss scale 1e+12); the weights stay"));
  const auto summary = nlohmann::json::parse(read(path("scaled/summary.json")));
  EXPECT_EQ(summary["steps"], 80);
  EXPECT_GT(summary["skipped_steps"], 10);
  EXPECT_LT(summary["skipped_steps"], 40);
  EXPECT_LT(summary["train"]["loss"], 0.3);
  std::ifstream metrics(path("scaled/metrics.jsonl"));
  double scale = 1e12;
  for (std::string line; std::getline(metrics, line);) {
    const auto record = nlohmann::json::parse(line);
    if (record.contains("split")) continue;
    EXPECT_EQ(record["loss_scale"], scale) << line;
    if (record["skipped"] == 1) scale /= 2;
  }
  EXPECT_LT(scale, 1e9);
}

// The factor falls to 1 in 17 steps, and 3 more are tried.
TEST_F(Overflow, AModelThatNoFactorHelpsEndsTheRunWithOneLine) {
  make_huge_model();
  const Ended ended = train("--precision fp16 --steps 50 --run hopeless");
  EXPECT_EQ(ended.code, 70) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("bert_train: the norm of the gradient at step 20 is "));
  EXPECT_THAT(
      ended.output,
      HasSubstr(", as in the 19 steps before it, at the loss scale 0.125; the first tensor"));
  EXPECT_THAT(ended.output,
              HasSubstr("hint: try a lower --lr, a longer --warmup, --precision fp32"));
  EXPECT_TRUE(std::filesystem::exists(path("hopeless/bug/step-20.json")));
}

}  // namespace
}  // namespace bp::trainer

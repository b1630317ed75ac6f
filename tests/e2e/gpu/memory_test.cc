// Tests what a run prints and writes when its GPU has too little memory.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/e2e/gpu/gpu_runs.h"
#include "tests/support/places.h"

namespace bp::trainer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ended;
using ::testing::HasSubstr;

class GpuMemory : public test::GpuRuns<GpuMemory> {
 protected:
  static void SetUpTestSuite() { prepare_pairs(); }
  void SetUp() override {
    if (test::runs_on_gpu()) GTEST_SKIP() << "this machine has a real driver: its memory is large";
  }
  void TearDown() override {
    ::unsetenv("FAKE_CUDA_MEMORY");
    ::unsetenv("FAKE_CUDA_DEVICES");
  }

  static std::string training(const std::string& run) {
    return concat(kData, "--batch 8 --steps 6 --device cuda --run ", run);
  }
  static json history(const std::string& run, int rank) {
    std::ifstream in(path(concat(run, "/bug/gpu-memory-", rank, ".json")));
    return in ? json::parse(in) : json();
  }
};

// Steps have batches of other lengths, so one whose memory suffices for the first may fail later.
// docs/acceptance.md, Devices: A step that fails for lack of GPU memory leaves a file with the
// memory of the steps before, on the rank that failed only.
// docs/features.md, Loop and checkpoints: The memory of the GPU over time |
// `RUN/bug/gpu-memory-N.json` after a step that failed
TEST_F(GpuMemory, AStepThatNeedsTooMuchLeavesTheMemoryOfAll) {
  for (std::size_t bytes = 1 << 20; bytes < std::size_t{1} << 30; bytes += bytes / 4) {
    ::setenv("FAKE_CUDA_MEMORY", std::to_string(bytes).c_str(), 1);
    const std::string run = concat("r", bytes);
    const Ended ended = in_folder(bert_train(training(run)));
    const json found = history(run, 0);
    if (ended.code == 0) {
      FAIL() << "no size between a start that fails and " << bytes << " ended a step";
    }
    if (found.is_null()) continue;  // the model alone was too large
    EXPECT_EQ(ended.code, 70) << ended.output;
    const json& steps = found.at("steps");
    ASSERT_FALSE(steps.empty());
    EXPECT_THAT(ended.output, HasSubstr(concat("out of memory at step ", steps.size(),
                                               ", in a batch of 8 samples")));
    EXPECT_THAT(ended.output, HasSubstr(concat("the memory of the GPU, step by step, is in ", run,
                                               "/bug/gpu-memory-0.json")));
    EXPECT_THAT(found.at("error").get<std::string>(), HasSubstr("out of memory at step"));
    EXPECT_EQ(found.at("total"), bytes);
    EXPECT_EQ(found.at("gpu"), concat("fake GPU (", size_text(bytes), ")"));
    int number = 0;
    for (const json& step : steps) {
      EXPECT_EQ(step.at("step"), ++number);
      EXPECT_EQ(step.at("samples"), 8);
      EXPECT_GT(step.at("tokens"), step.at("longest"));
      EXPECT_GT(step.at("before"), 0) << "the weights";
      EXPECT_GE(step.at("highest"), step.at("before"));
      EXPECT_GE(step.at("highest"), step.at("after"));
      EXPECT_LE(step.at("highest"), bytes);
      EXPECT_GE(step.at("reserved"), step.at("after"));
    }
    EXPECT_GT(steps.back().at("refusals"), 0);
    return;
  }
}

TEST_F(GpuMemory, OnlyTheRankThatFailsLeavesAFile) {
  const std::string program = with("[ $RANK = 1 ] && export FAKE_CUDA_FAIL=cudaMalloc:600:2");
  ::setenv("FAKE_CUDA_DEVICES", "2", 1);
  const Ended ended = in_folder(concat(kBinDir + "/bprun -n 2 ", program, training("two")));
  EXPECT_EQ(ended.code, 70) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("out of memory at step "));
  EXPECT_TRUE(history("two", 0).is_null()) << history("two", 0).at("error");
  EXPECT_EQ(history("two", 1).value("rank", 0), 1);
}

TEST_F(GpuMemory, ARunThatEndsLeavesNone) {
  (void)output_of(bert_train(training("good")));
  EXPECT_FALSE(fs::exists(path("good/bug")));
}

}  // namespace
}  // namespace bp::trainer

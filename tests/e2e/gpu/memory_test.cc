// Tests what a run prints and writes when its GPU has too little memory.
#include <gmock/gmock.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

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

  static std::string training(const std::string& run, int batch = 8) {
    return concat(kData, "--batch ", batch, " --steps 6 --device cuda --run ", run);
  }
  static std::vector<json> metrics(const std::string& run) {
    std::ifstream in(path(run + "/metrics.jsonl"));
    std::vector<json> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
    return lines;
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
  // Most calls are in passes, but not all.
  Ended ended;
  for (int call = 600; call < 640 && ended.output.find("in a batch of") == std::string::npos;
       call += 5) {
    fs::remove_all(path("full"));
    ended =
        in_folder(concat("FAKE_CUDA_FAIL=cudaMalloc:", call, ":2 ", bert_train(training("full"))));
    EXPECT_EQ(ended.code, 70) << ended.output;
  }
  const json found = history("full", 0);
  ASSERT_FALSE(found.is_null());
  const json& steps = found.at("steps");
  ASSERT_FALSE(steps.empty());
  EXPECT_THAT(ended.output, HasSubstr(concat("out of memory at step ", steps.size(),
                                             ", in a batch of 8 samples")));
  EXPECT_THAT(ended.output, HasSubstr("the memory of the GPU, step by step, is in "
                                      "full/bug/gpu-memory-0.json"));
  EXPECT_THAT(found.at("error").get<std::string>(), HasSubstr("out of memory at step"));
  EXPECT_GT(found.at("total"), 0);
  int number = 0;
  for (const json& step : steps) {
    EXPECT_EQ(step.at("step"), ++number);
    EXPECT_EQ(step.at("samples"), 8);
    EXPECT_GT(step.at("tokens"), step.at("longest"));
    EXPECT_GT(step.at("before"), 0) << "the weights";
    EXPECT_GE(step.at("highest"), step.at("before"));
    EXPECT_GE(step.at("highest"), step.at("after"));
    EXPECT_GE(step.at("reserved"), step.at("after"));
  }
  EXPECT_GT(steps.back().at("refusals"), 0);
}

// docs/acceptance.md, Devices: On a GPU that has no memory for a whole batch, a rank computes it in
// pieces, and the losses are the same.
TEST_F(GpuMemory, ABatchThatDoesNotFitIsComputedInPieces) {
  constexpr int kBatch = 48;  // whose passes need more than the model
  int runs = 0;
  const auto ends = [&](std::size_t bytes) {
    ::setenv("FAKE_CUDA_MEMORY", std::to_string(bytes).c_str(), 1);
    return in_folder(bert_train(training(concat("r", ++runs), kBatch))).code == 0;
  };
  std::size_t too_little = 1 << 20;
  std::size_t enough = too_little;
  while (enough < std::size_t{1} << 30 && !ends(enough)) {
    too_little = std::exchange(enough, enough + enough / 2);
  }
  for (int i = 0; i < 6; ++i) {
    const std::size_t middle = (too_little + enough) / 2;
    (ends(middle) ? enough : too_little) = middle;
  }
  ::setenv("FAKE_CUDA_MEMORY", std::to_string(enough).c_str(), 1);
  const Ended pieces = in_folder(bert_train(training("pieces", kBatch)));
  ASSERT_EQ(pieces.code, 0) << pieces.output;
  EXPECT_THAT(pieces.output, HasSubstr("has too little memory for a batch of 48 samples"));
  ::unsetenv("FAKE_CUDA_MEMORY");
  (void)output_of(bert_train(training("whole", kBatch)));
  const std::vector<json> found = metrics("pieces");
  const std::vector<json> expected = metrics("whole");
  ASSERT_EQ(found.size(), expected.size());
  std::int64_t split = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    split += found[i].value("split_batches", 0);
    EXPECT_NEAR(found[i].at("loss"), expected[i].at("loss"), 1e-6);
  }
  EXPECT_GT(split, 0);
}

// $BP_MEMORY_PLACES: how many, of which each costs a run.
// docs/acceptance.md, Devices: Where an allocation of a pass fails, and LibTorch's second attempt
// too, the losses are the same (at 200 places by scripts/acceptance); elsewhere the run ends with
// the cause.
TEST_F(GpuMemory, AllocationsMayFailAnywhere) {
  const auto run = [&](const std::string& failure) {
    fs::remove_all(path("fails"));
    return in_folder(concat(failure, " ",
                            bert_train(concat(kData,
                                              "--batch 8 --steps 3 --device cuda "
                                              "--save-every none --run fails"))));
  };
  const auto failing_from = [&](int call, const char* times) {
    return run(concat("FAKE_CUDA_FAIL=cudaMalloc:", call, ":2", times));
  };
  ASSERT_EQ(run("").code, 0);
  const std::vector<json> expected = metrics("fails");
  int last = 1;  // call
  int behind = 2;
  while (failing_from(behind, "").code != 0) last = std::exchange(behind, 2 * behind);
  while (behind - last > 1) {
    const int middle = (last + behind) / 2;
    (failing_from(middle, "").code != 0 ? last : behind) = middle;
  }
  const char* const asked = std::getenv("BP_MEMORY_PLACES");
  const int places = asked == nullptr ? 20 : std::stoi(asked);
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same places each time
  std::uniform_int_distribution<int> any(1, last);
  int in_passes = 0;
  int elsewhere = 0;
  while (in_passes < places) {
    const int call = any(random);
    SCOPED_TRACE(concat("call ", call, " of ", last));
    const Ended ended = failing_from(call, ":2");
    if (ended.code != 0) {
      ++elsewhere;
      EXPECT_EQ(ended.code, 70) << ended.output;
      EXPECT_THAT(ended.output, HasSubstr("memory"));
      ASSERT_LT(elsewhere, 2 * places + 20);
      continue;
    }
    ++in_passes;
    EXPECT_THAT(ended.output, HasSubstr("has too little memory for a batch of 8 samples"));
    const std::vector<json> found = metrics("fails");
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].at("loss"), expected[i].at("loss"), 1e-6);
    }
  }
  std::cout << in_passes << " places in passes, " << elsewhere << " elsewhere\n";
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

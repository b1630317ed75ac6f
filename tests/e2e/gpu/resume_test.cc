// Runs on a GPU that are stopped and resumed, also on the other kind of device.
#include <gmock/gmock.h>

#include <string>

#include "tests/e2e/gpu/gpu_runs.h"

namespace bp::trainer {
namespace {

using test::Ended;
using test::Numbers;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class GpuResume : public test::GpuRuns<GpuResume> {
 protected:
  static void SetUpTestSuite() {
    prepare_pairs();
    ::setenv("FAKE_CUDA_DEVICES", "2", 1);
    run_together(bert_train(concat(kData, kTraining, "--run on-gpu --device cuda")),
                 bert_train(concat(kData, kTraining, "--run on-cpu --device cpu")));
  }
  static constexpr const char* kTraining = "--batch 8 --steps 8 --save-every 4 --keep 3 ";

  static void expect_same_weights(const std::string& run, const std::string& other) {
    EXPECT_NE(weights(run), "");
    EXPECT_TRUE(weights(run) == weights(other));
  }
  // The numbers of steps 5 to 8.
  static Numbers second_half(const std::string& run) {
    Numbers all = numbers(run);
    std::erase_if(all, [](const auto& number) { return number.first < "step 5"; });
    return all;
  }
};

// docs/acceptance.md, Devices: A run on GPUs resumes to the same bits.
TEST_F(GpuResume, ContinuesToTheSameBits) {
  const std::string output = output_of(bert_train(
      concat(kData, kTraining, "--run rest --device cuda --resume on-gpu/checkpoints/step-4")));
  EXPECT_THAT(output, HasSubstr("/on-gpu/checkpoints/step-4, in epoch 1 after 32 of 96 samples\n"));
  EXPECT_THAT(output, Not(HasSubstr("may differ")));
  expect_same_weights("rest", "on-gpu");
}

// A checkpoint also restores momentum, the average of the weights, and the factor of the loss,
// which the first steps halve.
TEST_F(GpuResume, ContinuesToTheSameBitsOnTwoRanksInFp16) {
  const std::string common = concat(kData, kTraining,
                                    "--device cuda --precision fp16 --loss-scale 4e6 --ema 0.9 "
                                    "--optimizer sgd --momentum 0.9 --lr 0.05 ");
  (void)output_of(bprun("-n 2", common + "--run whole16"));
  (void)output_of(bprun("-n 2", common + "--run rest16 --resume whole16/checkpoints/step-4"));
  EXPECT_THAT(algorithms("rest16"), ElementsAre("nccl"));
  expect_same_weights("rest16", "whole16");
  EXPECT_EQ(numbers("whole16").at("step 1 skipped"), 1);
  test::expect_near(second_half("whole16"), numbers("rest16"), 0);
}

// docs/acceptance.md, Devices: Ranks on GPUs that divide the optimizer train and save the model of
// ranks that do not, also when they resume.
TEST_F(GpuResume, RanksThatDivideTheOptimizerContinueToTheSameBits) {
  for (const std::string optimizer : {"adamw", "lamb"}) {
    const auto two_ranks = [&](const std::string& rest) {  // NCCL adds in another order
      return concat(
          "env -u BP_NCCL ",
          bprun("-n 2", concat(kData, kTraining, "--device cuda --precision fp16 ",
                               "--loss-scale 4e6 --ema 0.9 --optimizer ", optimizer, rest)));
    };
    const auto run = [&](const std::string& name) { return concat(" --run ", name, optimizer); };
    run_together(two_ranks(run("none-")), two_ranks(" --shard optimizer" + run("shards-")));
    (void)output_of(two_ranks(concat(" --shard optimizer", run("rest-"), " --resume shards-",
                                     optimizer, "/checkpoints/step-4")));
    (void)output_of(
        two_ranks(concat(run("plain-"), " --resume shards-", optimizer, "/checkpoints/step-4")));
    for (const std::string other : {"shards-", "rest-", "plain-"}) {
      SCOPED_TRACE(other);
      expect_same_weights(other + optimizer, "none-" + optimizer);
      EXPECT_EQ(
          test::read(path(concat(other, optimizer, "/checkpoints/step-8/optimizer.safetensors"))),
          test::read(
              path(concat("none-", optimizer, "/checkpoints/step-8/optimizer.safetensors"))));
    }
    test::expect_near(numbers("none-" + optimizer), numbers("shards-" + optimizer), 0);
  }
}

TEST_F(GpuResume, ARunThatIsStoppedContinuesToTheSameBits) {
  const std::string run =
      bert_train(concat(kData, "--batch 8 --steps 24 --device cuda --run stopped "));
  const Ended stopped = in_folder(
      concat("{ ", run,
             " > log 2>&1 & pid=$!; for i in $(seq 600); do grep -q \"step.:3,\" "
             "stopped/metrics.jsonl 2> /dev/null && break; sleep 0.02; done; kill -TERM $pid; "
             "wait $pid; code=$?; cat log; exit $code; }"));
  ASSERT_EQ(stopped.code, 75) << stopped.output;
  EXPECT_THAT(output_of(run), HasSubstr("resuming from stopped/checkpoints/step-"));
  (void)output_of(
      bert_train(concat(kData, "--batch 8 --steps 24 --device cuda --run undisturbed")));
  expect_same_weights("stopped", "undisturbed");
}

// docs/acceptance.md, Devices: A run on a GPU resumes on the CPU with the same losses, and the
// other way round.
TEST_F(GpuResume, ContinuesOnTheOtherDevice) {
  const std::string to_cpu = output_of(bert_train(
      concat(kData, kTraining, "--run to-cpu --device cpu --resume on-gpu/checkpoints/step-4")));
  EXPECT_THAT(to_cpu,
              ContainsRegex("machines is 1 x 1 thread, [A-Z0-9]*, fake GPU \\(16.0 GiB\\) in the "
                            "checkpoint, 1 x 1 thread, [A-Z0-9]* here"));
  const std::string to_gpu = output_of(bert_train(
      concat(kData, kTraining, "--run to-gpu --device cuda --resume on-cpu/checkpoints/step-4")));
  EXPECT_THAT(to_gpu, ContainsRegex("machines is 1 x 1 thread, [A-Z0-9]* in the checkpoint, 1 x 1 "
                                    "thread, [A-Z0-9]*, fake GPU \\(16.0 GiB\\) here"));
  for (const char* run : {"to-cpu", "to-gpu"}) {
    SCOPED_TRACE(run);
    test::expect_near(second_half("on-cpu"), numbers(run), 1e-5);
  }
  test::expect_near(numbers("on-cpu"), numbers("on-gpu"), 1e-5);
}

}  // namespace
}  // namespace bp::trainer

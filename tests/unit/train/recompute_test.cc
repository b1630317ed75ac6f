// Activation checkpointing: it changes no bit of what is trained, and takes less memory.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include "tests/support/run_ranks.h"
#include "tests/support/torch_model.h"
#include "train_fixture.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/loop.h"
#include "trainer/train/methods/step_loss.h"

namespace bp::trainer {
namespace {

// Counts the bytes of the tensors that this thread makes.
class CountBytes : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(
      void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    now_ += bytes;
    most = std::max(most, now_);
  }
  [[nodiscard]] bool memoryProfilingEnabled() const override { return true; }

  std::int64_t most = 0;

 private:
  std::int64_t now_ = 0;
};

class RecomputeTest : public test::SmallData {
 protected:
  void SetUp() override {
    SmallData::SetUp();
    at::set_num_threads(1);  // so that all tensors are this thread's
  }
  void TearDown() override {
    at::set_num_threads(threads_);
    SmallData::TearDown();
  }
  static EncoderSpec deep(const SampleStore& store) {
    EncoderSpec deep = config(store, 0.2);
    deep.layers = 7;
    return deep;
  }
  // Returns the parameters after a few steps.
  std::vector<at::Tensor> trained(const RunSettings& options,
                                  const Regularization& regularization) {
    std::vector<at::Tensor> parameters;
    bp::test::run_ranks(1, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(deep(store), make_classifier_head, options.precision, 1);
      TrainJob job;
      job.store = store_path();
      job.rows = store.size(Split::train);
      job.lr = options.lr;
      job.regularization = regularization;
      job.evaluate = [] { return DevScores{}; };
      (void)train(world, options, job, model);
      for (const auto& [name, parameter] : model.parameters()) {
        parameters.push_back(parameter.detach().clone());
      }
    });
    return parameters;
  }

 private:
  const int threads_ = at::get_num_threads();
};

TEST_F(RecomputeTest, ChangesNoBitOfTheModel) {
  RunSettings options = test::SmallData::options();
  options.steps = 2;
  Regularization with_two_passes;
  with_two_passes.r_drop = 1;
  with_two_passes.vat = 1;
  for (const auto& [precision, regularization] : {std::pair(Precision::fp32, Regularization{}),
                                                  std::pair(Precision::bf16, with_two_passes)}) {
    options.precision = precision;
    options.checkpoint_activations = false;
    const auto kept = trained(options, regularization);
    options.checkpoint_activations = true;
    const auto again = trained(options, regularization);
    for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(kept[i].equal(again[i])) << i;
  }
}

// docs/features.md, Models and losses: Activation checkpointing | `--checkpoint-activations`
TEST_F(RecomputeTest, TakesLessMemory) {
  const SampleStore store = SampleStore::open(store_path());
  const Bert model(deep(store), make_classifier_head, Precision::fp32, 1);
  std::vector<Sample> samples;
  for (int i = 0; i < 64; ++i) samples.push_back(store.load(Split::train, i));
  const Batch batch = make_batch(samples, store.schema(), store.pad_id());
  const auto most_with = [&](int layers) {
    TrainingStep step{1, 0};
    step.recomputed_layers = layers;
    for (const auto& [name, parameter] : model.parameters()) parameter.mutable_grad().reset();
    const auto count = std::make_shared<CountBytes>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, count);
    step_loss(model, batch, step, {}).mean.backward();
    return count->most;
  };
  const std::int64_t kept = most_with(0);
  const std::int64_t again = most_with(3);
  RecordProperty("kept_bytes", std::to_string(kept));
  RecordProperty("recomputed_bytes", std::to_string(again));
  EXPECT_LT(static_cast<double>(again), 0.65 * static_cast<double>(kept));
}

}  // namespace
}  // namespace bp::trainer

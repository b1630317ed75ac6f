// What finds a fault of a step: the comparison of all ranks, and anomaly mode.
#include "trainer/train/watch/gradient_check.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <limits>

#include "tests/support/run_ranks.h"
#include "train_fixture.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/loop.h"
#include "trainer/train/watch/anomaly.h"

namespace bp::trainer {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class FaultsOfAStep : public test::SmallData {
 protected:
  [[nodiscard]] TrainJob job(const SampleStore& store, const RunSettings& options) const {
    TrainJob job;
    job.store = store_path();
    job.rows = store.size(Split::train);
    job.lr = options.lr;
    job.evaluate = [] { return DevScores{}; };
    return job;
  }
};

// docs/features.md, Gradients: A check that gradients are equal on all ranks | `--check-gradients`;
// `--trace` writes a hash of the parameters of each step
TEST_F(FaultsOfAStep, ABitThatDiffersNamesTheParameterAndTheRanks) {
  const auto errors = bp::test::try_agreeing_ranks(4, [&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    const Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
    check_same_on_all_ranks(world, model, 1);
    const auto& [name, weight] = model.parameters()[4];
    ASSERT_EQ(name, "bert.embeddings.LayerNorm.bias");
    if (world.rank() % 2 == 1) weight.detach()[3] = -0.0F;  // in place of 0
    check_same_on_all_ranks(world, model, 2);
  });
  EXPECT_THAT(errors, Each(HasSubstr("step 2: the parameter bert.embeddings.LayerNorm.bias on "
                                     "ranks 1, 3 differ from rank 0's")));
}

TEST_F(FaultsOfAStep, AGradientThatDiffersIsNamedDuringTraining) {
  RunSettings options = test::SmallData::options();
  options.check_gradients = 2;
  const auto train_with = [&](bool differ) {
    return bp::test::try_agreeing_ranks(2, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
      TrainJob own = job(store, options);
      own.evaluate = [&, differ]() -> DevScores {
        if (differ && world.rank() == 1) {  // as a broken processor does, unknown to LibTorch
          model.parameters().back().second.mutable_data_ptr<float>()[0] += 1e-3F;
        }
        return {};
      };
      (void)train(world, options, own, model);
    });
  };
  EXPECT_THAT(train_with(false), Each(""));
  options.eval_every = {every_steps(3)};
  EXPECT_THAT(train_with(true),
              Each(HasSubstr("step 4: the parameter classifier.bias on rank 1 differs")));
}

// docs/features.md, Optimization: The place where a NaN begins | The first tensor that is not
// finite is named; `--detect-anomaly` examines each step.
TEST_F(FaultsOfAStep, AnomalyModeNamesTheFirstActivation) {
  RunSettings options = test::SmallData::options();
  options.detect_anomaly = true;
  const auto train_with = [&](bool broken) {
    return bp::test::try_agreeing_ranks(2, [&](Communicator& world) {
      const SampleStore store = SampleStore::open(store_path());
      Bert model(config(store, 0.1), make_classifier_head, Precision::fp32, 1);
      for (const auto& [name, weight] : model.parameters()) {
        if (broken && name == "bert.encoder.layer.1.intermediate.dense.bias") {
          weight.detach()[0] = std::numeric_limits<float>::infinity();
        }
      }
      (void)train(world, options, job(store, options), model);
    });
  };
  EXPECT_THAT(train_with(false), Each(""));
  EXPECT_THAT(train_with(true), Each(HasSubstr("step 1: the activation "
                                               "encoder.layer.1.intermediate is the first that is "
                                               "not finite, on rank 0")));
}

TEST_F(FaultsOfAStep, AnomalyModeNamesAGradientWhereActivationsAreFinite) {
  const auto errors = bp::test::try_agreeing_ranks(2, [&](Communicator& world) {
    const SampleStore store = SampleStore::open(store_path());
    const Bert model(config(store, 0), make_classifier_head, Precision::fp32, 1);
    const AnomalyWatch watch(true);
    TrainingStep step;
    watch.observe(step);
    at::Tensor x = at::zeros({2}).requires_grad_(true);
    const at::Tensor lower = x * 2;
    step.observe("lower", lower);
    const at::Tensor upper = lower + (world.rank() == 0 ? 1 : 0);
    step.observe("upper", upper);
    upper.sqrt().sum().backward();  // the derivative at 0 is infinite
    watch.require_none(world, model, 7);
  });
  EXPECT_THAT(errors, Each(HasSubstr("step 7: the gradient of the activation upper is the first "
                                     "that is not finite, on rank 1")));
}

}  // namespace
}  // namespace bp::trainer

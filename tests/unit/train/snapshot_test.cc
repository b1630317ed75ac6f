// Weights and moments are saved and restored bit for bit.
#include "trainer/checkpoint/snapshot.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/optim/adamw.h>

#include <filesystem>
#include <utility>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "tests/support/run_ranks.h"
#include "tests/support/scratch.h"
#include "tests/unit/model/refusal.h"
#include "tests/unit/train/adamw_steps.h"
#include "train_fixture.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/optim/adamw.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using ::testing::HasSubstr;

class SnapshotTest : public test::SmallData {
 protected:
  void SetUp() override {
    SmallData::SetUp();
    std::filesystem::create_directories(path("saved"));
  }
  Bert make(std::uint64_t seed, int hidden = 16) {
    EncoderSpec shape = config(SampleStore::open(store_path()), 0);
    shape.hidden = hidden;
    return {shape, make_classifier_head, Precision::fp32, seed};
  }
  static void expect_equal(const Bert& a, const Bert& b) {
    for (std::size_t i = 0; i < a.parameters().size(); ++i) {
      EXPECT_TRUE(a.parameters()[i].second.equal(b.parameters()[i].second))
          << a.parameters()[i].first;
    }
  }
};

TEST_F(SnapshotTest, TheNextStepsAfterRestoringAreTheSame) {
  const Bert model = make(1);
  const auto optimizer = test::adamw_of(model);
  test::make_step(model, *optimizer);
  test::make_step(model, *optimizer);
  Snapshot snapshot(model, adamw_moments());
  snapshot.prepare();
  snapshot.take(model, *optimizer);
  test::make_step(model, *optimizer);  // training continues before the snapshot is written
  snapshot.write(path("saved"));

  Bert again = make(2);
  const auto again_optimizer = test::adamw_of(again);
  restore(path("saved"), again, again_optimizer.get());
  test::make_step(again, *again_optimizer);
  expect_equal(model, again);
  test::make_step(again, *again_optimizer);
  test::make_step(model, *optimizer);
  expect_equal(model, again);
}

// docs/acceptance.md, Runs: A checkpoint without a copy in memory is the same.
TEST_F(SnapshotTest, WithoutACopyTheFilesAreTheSame) {
  const Bert model = make(1);
  bp::test::run_ranks(1, [&](Communicator& world) {
    DistributedOptimizer optimizer(world, model.parameters(), test::adamw_of(model));
    test::make_step(model, optimizer.optimizer());
    for (const bool copies : {true, false}) {
      std::filesystem::create_directories(path(copies ? "copied" : "direct"));
      Snapshot snapshot(model, adamw_moments(), false, copies);
      snapshot.take(model, optimizer.optimizer());
      snapshot.write(path(copies ? "copied" : "direct"), copies ? nullptr : &optimizer);
    }
  });
  for (const std::string file : {"/model.safetensors", "/optimizer.safetensors"}) {
    EXPECT_EQ(bp::read_file(path("copied") + file), bp::read_file(path("direct") + file));
  }
}

TEST_F(SnapshotTest, BeforeTheFirstStepThereAreNoMoments) {
  const Bert model = make(1);
  const auto optimizer = test::adamw_of(model);
  Snapshot snapshot(model, adamw_moments());
  snapshot.take(model, *optimizer);
  snapshot.write(path("saved"));
  Bert again = make(2);
  const auto again_optimizer = test::adamw_of(again);
  restore(path("saved"), again, again_optimizer.get());
  EXPECT_TRUE(again_optimizer->state().empty());
  expect_equal(model, again);
}

TEST_F(SnapshotTest, AnotherModelIsRefused) {
  const Bert model = make(1);
  const auto optimizer = test::adamw_of(model);
  test::make_step(model, *optimizer);
  Snapshot snapshot(model, adamw_moments());
  snapshot.take(model, *optimizer);
  snapshot.write(path("saved"));
  Bert wider = make(1, 32);
  const auto wider_optimizer = test::adamw_of(wider);
  try {
    restore(path("saved"), wider, wider_optimizer.get());
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("saved/model.safetensors holds the weights of another "));
  }
}

TEST_F(SnapshotTest, MomentsThatDoNotFitAreRefused) {
  const Bert model = make(1);
  const auto optimizer = test::adamw_of(model);
  Snapshot snapshot(model, adamw_moments());
  snapshot.take(model, *optimizer);
  snapshot.write(path("saved"));
  const std::string moments = path("saved/optimizer.safetensors");
  const auto refusal_with = [&](std::vector<SafetensorsItem> items) {
    write_safetensors(moments, std::move(items));
    Bert again = make(2);
    const auto again_optimizer = test::adamw_of(again);
    return test::refusal([&] { restore(path("saved"), again, again_optimizer.get()); });
  };
  const std::string first = model.parameters()[0].first;
  const std::int64_t step = 1;
  const float number = 0;
  EXPECT_EQ(refusal_with({{"step." + first, "I64", {}, &step}}),
            moments + " lacks exp_avg." + first);
  EXPECT_EQ(refusal_with(
                {{"exp_avg." + first, "F32", {1}, &number}, {"step." + first, "I64", {}, &step}}),
            moments + " has exp_avg." + first + " in another shape or type");
  EXPECT_EQ(refusal_with({{"odd", "F32", {1}, &number}}), moments + " has odd, which fits nothing");
}

}  // namespace
}  // namespace bp::trainer

// Code that reads or writes all weights of a model works on any device.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/optim/optimizer.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/input_error.h"
#include "tests/support/run_ranks.h"
#include "tests/unit/model/on_device.h"
#include "tests/unit/train/adamw_steps.h"
#include "train_fixture.h"
#include "trainer/checkpoint/snapshot.h"
#include "trainer/model/weights.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/optimizer_state.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/loop/summation.h"
#include "trainer/train/loop/training_state.h"
#include "trainer/train/methods/averaged_weights.h"
#include "trainer/train/methods/take_weights.h"
#include "trainer/train/watch/gradient_check.h"
#include "trainer/train/watch/step_trace.h"
#include "trainer/train/watch/weight_histograms.h"

namespace bp::trainer {
namespace {

using at::Tensor;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class ModelOnDevice : public test::SmallData {
 protected:
  void SetUp() override {
    SmallData::SetUp();
    for (const char* folder : {"first", "second", "third"}) {
      std::filesystem::create_directories(path(folder));
    }
  }
  [[nodiscard]] std::unique_ptr<Bert> on_cpu(std::uint64_t seed) const {
    return on(at::kCPU, seed);
  }
  [[nodiscard]] std::unique_ptr<Bert> on_the_device(std::uint64_t seed) const {
    return on(bp::test::torch_device(), seed);
  }
  [[nodiscard]] std::unique_ptr<Bert> on(at::Device device, std::uint64_t seed) const {
    return std::make_unique<Bert>(config(SampleStore::open(store_path()), 0), make_classifier_head,
                                  Precision::fp32, seed, std::nullopt, device);
  }
  static void expect_same(const Bert& got, const Bert& right) {
    for (std::size_t i = 0; i < right.parameters().size(); ++i) {
      expect_equal(got.parameters()[i].second, right.parameters()[i].second);
    }
  }
  void save(const Bert& model,
            torch::optim::Optimizer& optimizer,
            const std::string& folder,
            const std::vector<Tensor>* averages = nullptr) const {
    Snapshot snapshot(model, adamw_moments(), averages != nullptr);
    snapshot.prepare();
    snapshot.take(model, optimizer, averages);
    test::make_step(model, optimizer);  // training continues
    snapshot.write(path(folder));
  }
  void expect_same_files(const std::string& folder, const std::string& other) const {
    for (const char* name : {"/model.safetensors", "/optimizer.safetensors"}) {
      EXPECT_EQ(content(path(folder + name)), content(path(other + name))) << name;
    }
  }
};

// From a device to the CPU, to a device: the files stay the same byte for byte.
// docs/acceptance.md, Devices: A checkpoint of a GPU resumes on a CPU, and the other way round.
TEST_F(ModelOnDevice, ACheckpointFitsEveryDevice) {
  const auto first = on_the_device(1);
  const auto optimizer = test::adamw_of(*first);
  test::make_step(*first, *optimizer);
  save(*first, *optimizer, "first");

  const auto second = on_cpu(2);
  const auto second_optimizer = test::adamw_of(*second);
  restore(path("first"), *second, second_optimizer.get());
  EXPECT_TRUE(second->parameters()[0].second.is_cpu());
  save(*second, *second_optimizer, "second");
  expect_same_files("second", "first");

  const auto third = on_the_device(3);
  const auto third_optimizer = test::adamw_of(*third);
  restore(path("second"), *third, third_optimizer.get());
  for (const auto& [name, parameter] : third->parameters()) EXPECT_FALSE(parameter.is_cpu());
  save(*third, *third_optimizer, "third");
  expect_same_files("third", "first");
  expect_same(*third, *first);  // both have made the step that followed
}

TEST_F(ModelOnDevice, ACheckpointHasAverages) {
  const auto first = on_the_device(1);
  const auto optimizer = test::adamw_of(*first);
  AveragedWeights averages(*first, 0.5);
  test::make_step(*first, *optimizer);
  averages.update(*first);
  save(*first, *optimizer, "first", &averages.averages());

  const auto second = on_the_device(2);
  const auto second_optimizer = test::adamw_of(*second);
  std::vector<Tensor> restored;
  restore(path("first"), *second, second_optimizer.get(), &restored);
  ASSERT_EQ(restored.size(), averages.averages().size());
  for (std::size_t i = 0; i < restored.size(); ++i) {
    EXPECT_EQ(restored[i].device(), bp::test::torch_device());
    expect_equal(restored[i], averages.averages()[i]);
  }
  test::make_step(*second, *second_optimizer);
  expect_same(*second, *first);
}

TEST_F(ModelOnDevice, SavesAndLoadsItsWeights) {
  const auto model = on_the_device(1);
  save_weights(*model, path("first/model.safetensors"));
  save_weights(*on_cpu(1), path("second/model.safetensors"));
  EXPECT_EQ(content(path("first/model.safetensors")), content(path("second/model.safetensors")));
  const auto other = on_the_device(2);
  EXPECT_TRUE(load_weights(*other, path("first/model.safetensors")).complete());
  expect_same(*other, *model);
}

TEST_F(ModelOnDevice, HasTheSameHashesAndHistograms) {
  const auto host = on_cpu(1);
  const auto device = on_the_device(1);
  const auto traced = [&](const std::string& folder, const Bert& model) {
    StepTrace(path(folder), {}, 0).write({}, 0.5, model);
    return content(path(folder + "/rank-0.jsonl"));
  };
  EXPECT_EQ(traced("first", *device), traced("second", *host));
  const Histogram got = histogram_of(device->parameters()[0].second);
  const Histogram right = histogram_of(host->parameters()[0].second);
  EXPECT_EQ(got.counts, right.counts);
  EXPECT_EQ(got.sum, right.sum);
}

TEST_F(ModelOnDevice, GetsTheWeightsAndAveragesOfRank0) {
  const auto saved = on_cpu(7);
  save_weights(*saved, path("first/model.safetensors"));
  bp::test::run_ranks(2, [&](Communicator& world) {
    // Rank 1 has no device, as a host without a GPU.
    const auto model = world.rank() == 0 ? on_the_device(1) : on_cpu(2);
    take_weights(world, path("first"), *model);
    expect_same(*model, *saved);
    check_same_on_all_ranks(world, *model, 1);
    AveragedWeights averages(*model, 0.5);
    std::vector<Tensor> own;
    for (const auto& [name, parameter] : model->parameters()) own.push_back(parameter.detach() * 2);
    averages.set(world.rank() == 0 ? own : std::vector<Tensor>(), world);
    for (std::size_t i = 0; i < own.size(); ++i) expect_equal(averages.averages()[i], own[i]);
    const Summation summation = summation_of(world, *model);
    const char* const device = bp::test::runs_on_gpu() ? ", cuda; " : ", fake; ";
    EXPECT_THAT(summation, Contains(Pair("machines", HasSubstr(device))));
    EXPECT_THAT(summation_of(world, *model, "NVIDIA A"),
                Contains(Pair("machines", HasSubstr(", NVIDIA A; "))));
  });
}

TEST_F(ModelOnDevice, WhatItsRanksCannotDivideIsAMistakeOfTheOption) {
  bp::test::run_ranks(2, [&](Communicator& world) {
    const auto model = on_the_device(1);
    RunSettings settings = options();
    for (const Shard shard : {Shard::automatic, Shard::none, Shard::optimizer}) {
      settings.shard = shard;
      EXPECT_EQ(possible_shard(world, settings, *model), shard);
    }
    settings.shard = Shard::gradients;
    try {
      static_cast<void>(possible_shard(world, settings, *model));
      ADD_FAILURE() << "nothing was refused";
    } catch (const InputError& error) {
      EXPECT_EQ(error.exit_code(), 2);
      EXPECT_THAT(error.what(), HasSubstr("--shard gradients, but the parameters lie on"));
    }
  });
}

}  // namespace
}  // namespace bp::trainer

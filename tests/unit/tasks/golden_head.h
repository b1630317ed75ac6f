// Compares a model that has a task's head with the golden files of tests/golden/heads.
#pragma once

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/optim/optimizer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/places.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/model/weights.h"
#include "trainer/optim/adamw.h"

namespace bp::trainer {

class GoldenHead {
 public:
  static constexpr int kRows = 4;
  static constexpr int kSteps = 20;

  // Makes the arrays of a step's batch.
  using Arrays = std::function<std::vector<BatchArray>(const GoldenHead& golden, int step)>;

  GoldenHead(const std::string& name, Arrays arrays)
      : folder_(kSourceDir + "/tests/golden/heads/" + name),
        arrays_(std::move(arrays)),
        expected_(read_tensors(folder_ + "/expected.safetensors")) {}

  [[nodiscard]] EncoderSpec config() const { return read_config(folder_ + "/config.json"); }
  [[nodiscard]] const at::Tensor& expected(const std::string& name) const {
    return expected_.at(name);
  }
  // Returns the rows of a tensor that belong to the samples of a step.
  [[nodiscard]] at::Tensor rows(const std::string& name, int step) const {
    return expected(name).slice(0, step * kRows, (step + 1) * kRows).contiguous();
  }
  [[nodiscard]] Batch batch(int step) const {
    Batch batch;
    batch.rows = kRows;
    batch.length = static_cast<int>(expected("ids").size(1));
    batch.token_ids = vector_of<std::int64_t>(rows("ids", step));
    batch.lengths = vector_of<std::int32_t>(rows("lengths", step));
    if (expected_.contains("types")) {
      batch.token_types = vector_of<std::int64_t>(rows("types", step));
    }
    batch.arrays = arrays_(*this, step);
    for (int row = 0; row < kRows; ++row) batch.sample_ids.push_back(step * kRows + row);
    return batch;
  }

  // Returns as a ragged array which numbers of each row are 1.
  [[nodiscard]] static BatchArray labels_of(const at::Tensor& answers) {
    BatchArray array{.width = static_cast<int>(answers.size(1))};
    for (const at::Tensor& row : answers.unbind()) {
      auto labels = vector_of<std::int64_t>(row.nonzero().view(-1));
      array.sizes.push_back(static_cast<std::int32_t>(labels.size()));
      labels.resize(static_cast<std::size_t>(array.width), -1);
      array.integers.insert(array.integers.end(), labels.begin(), labels.end());
    }
    return array;
  }

  // Returns the model with the golden weights. `extra`: the prefix of weights that the file lacks.
  [[nodiscard]] std::unique_ptr<Bert> model(const HeadMaker& head,
                                            const std::string& extra = "-") const {
    auto model = std::make_unique<Bert>(config(), head, Precision::fp32, 1);
    const LoadReport report = load_weights(*model, folder_ + "/model.safetensors");
    for (const std::string& name : report.missing) EXPECT_TRUE(name.starts_with(extra)) << name;
    EXPECT_THAT(report.unexpected, testing::IsEmpty());
    EXPECT_THAT(report.misshaped, testing::IsEmpty());
    return model;
  }

  // Compares hidden states, logits, the loss and every gradient of the first batch.
  void expect_first_step(const Bert& model, double weight) const {
    const Batch first = batch(0);
    const TrainingStep step{1, 0};
    EXPECT_TRUE(at::allclose(model.hidden_states(first), expected("hidden"), 1e-5, 5e-6));
    const at::Tensor logits = model.forward(first, &step);
    EXPECT_TRUE(at::allclose(logits, expected("logits"), 1e-5, 5e-6));
    const Loss loss = model.loss(logits, first);
    EXPECT_NEAR(loss.mean.item<float>(), expected("losses")[0].item<float>(), 5e-6);
    EXPECT_EQ(loss.weight, weight);
    loss.mean.backward();
    const auto computed = named(model, [](const at::Tensor& p) { return p.grad(); });
    expect_all(computed, "grad.", 2e-6);
  }

  // Trains from the golden weights and compares each step's loss, the last logits and the
  // parameters.
  void expect_training(Bert& model) const {
    const auto optimizer = adamw(model);
    at::Tensor logits;
    for (int number = 0; number < kSteps; ++number) {
      const TrainingStep step{1, static_cast<std::uint64_t>(number)};
      const Batch own = batch(number);
      optimizer->zero_grad();
      logits = model.forward(own, &step);
      const at::Tensor loss = model.loss(logits, own).mean;
      EXPECT_NEAR(loss.item<float>(), expected("losses")[number].item<float>(), 1e-4) << number;
      loss.backward();
      optimizer->step();
      model.parameters_changed();
    }
    EXPECT_TRUE(at::allclose(logits, expected("last_logits"), 0, 1e-4));
    expect_all(named(model, [](const at::Tensor& p) { return p.detach(); }), "last.", 1e-4);
  }

 private:
  using Named = std::map<std::string, at::Tensor>;

  template <class Of>
  static Named named(const Bert& model, const Of& of) {
    NamedTensors tensors;
    for (const auto& [name, parameter] : model.parameters()) {
      if (const at::Tensor tensor = of(parameter); tensor.defined()) {
        tensors.emplace_back(name, tensor);
      }
    }
    Named result;
    for (const auto& [name, tensor] : hugging_face_names(tensors)) result[name] = tensor;
    return result;
  }

  // Softmax does not depend on the keys' bias, so its gradient is 0 but for rounding, which AdamW
  // makes as large as any other.
  void expect_all(const Named& computed, const std::string& prefix, double tolerance) const {
    std::size_t compared = 0;
    for (const auto& [name, right] : expected_) {
      if (!name.starts_with(prefix)) continue;
      ++compared;
      if (prefix == "last." && name.ends_with("key.bias")) continue;
      const at::Tensor& tensor = computed.at(name.substr(prefix.size()));
      EXPECT_TRUE(at::allclose(tensor, right, 1e-4, tolerance))
          << name << " differs by " << (tensor - right).abs().max().item<float>();
    }
    EXPECT_GT(compared, 20U);
  }

  // The optimizer that bert_train makes by default.
  static std::unique_ptr<torch::optim::Optimizer> adamw(const Bert& model) {
    DecayGroup decayed{{}, 0.01};
    DecayGroup others{{}, 0};
    for (const auto& [name, parameter] : model.parameters()) {
      const bool excepted = name.ends_with(".bias") || name.find("LayerNorm") != std::string::npos;
      (excepted ? others : decayed).parameters.push_back(parameter);
    }
    AdamWOptions options;
    options.lr = 1e-2;
    return make_fused_adamw({decayed, others}, options);
  }

  std::string folder_;
  Arrays arrays_;
  Named expected_;
};

}  // namespace bp::trainer

// Distillation: its formulas, and the numbers of PyTorch (tests/golden/distill).
// docs/acceptance.md, Training: A small model learns more from a large one than alone, by 1 point
// or more, the median of three seeds.
#include "trainer/train/methods/distillation.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tests/support/places.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/train/methods/step_loss.h"

namespace bp::trainer {
namespace {

const std::string kDistillFolder = kSourceDir + "/tests/golden/distill";
const TrainingStep kDistillStep{1, 0};
const DistillOptions kBoth{.teacher = "teacher", .temperature = 3, .weight = 0.7, .hidden = 0.4};

std::unique_ptr<Bert> golden(const std::string& name, const std::vector<double>& weights = {}) {
  const std::string folder = concat(kDistillFolder, "/", name);
  EncoderSpec config = read_config(folder + "/config.json");
  if (!weights.empty()) config.head = head_of({.labels = {"a", "b", "c"}, .weights = weights});
  auto model = std::make_unique<Bert>(config, make_classifier_head, Precision::fp32, 1);
  EXPECT_TRUE(load_weights(*model, folder + "/model.safetensors").complete());
  return model;
}

class DistillationGolden : public ::testing::Test {
 protected:
  // The rows from `first` on, up to `last`.
  [[nodiscard]] Batch batch(std::size_t first = 0, std::size_t last = 4) const {
    const auto lengths = vector_of<std::int32_t>(expected_.at("lengths"));
    const auto labels = vector_of<std::int64_t>(expected_.at("labels"));
    const auto ids = vector_of<std::int64_t>(expected_.at("ids"));
    Batch batch;
    batch.length = 9;
    batch.arrays.resize(1);
    for (std::size_t row = first; row < last; ++row) {
      ++batch.rows;
      const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(row) * 9;
      batch.token_ids.insert(batch.token_ids.end(), begin, begin + 9);
      batch.lengths.push_back(lengths[row]);
      batch.arrays[0].integers.push_back(labels[row]);
      batch.sample_ids.push_back(static_cast<std::int64_t>(row));
    }
    return batch;
  }
  void use_golden_projection(const Bert& student) const {
    student.projection().detach().copy_(expected_.at("projection"));
  }

  const std::map<std::string, at::Tensor> expected_ =
      read_tensors(kDistillFolder + "/expected.safetensors");
};

// docs/features.md, Models and losses: Distillation from logits and hidden states | `--teacher`,
// `--distill-temperature`, `--distill-weight`, `--distill-hidden`
TEST_F(DistillationGolden, IsWhatPyTorchComputes) {
  const auto student = golden("student");
  auto teacher = golden("teacher");
  const Bert& unchanged = *teacher;
  const Distillation distillation(std::move(teacher), kBoth, *student);
  use_golden_projection(*student);
  const Loss loss = step_loss(*student, batch(), kDistillStep, {}, &distillation);
  EXPECT_EQ(loss.weight, 4);
  EXPECT_NEAR(loss.mean.item<float>(), expected_.at("loss").item<float>(), 1e-5);
  loss.mean.backward();
  expect_gradients(*student, expected_);
  for (const auto& [name, parameter] : unchanged.parameters()) {
    EXPECT_FALSE(parameter.grad().defined()) << name;
  }
}

TEST_F(DistillationGolden, ThePartsAreWhatPyTorchComputes) {
  const auto student = golden("student");
  const auto teacher = golden("teacher");
  const Bert::WithStates own = student->forward_with_states(batch(), nullptr);
  const Bert::WithStates wanted = teacher->forward_with_states(batch(), nullptr);
  ASSERT_EQ(wanted.states.size(), 5U);
  EXPECT_NEAR(soft_loss(*student, wanted.outputs, own.outputs, batch(), 3).mean.item<float>(),
              expected_.at("soft").item<float>(), 1e-5);
  const at::Tensor difference =
      hidden_difference(*own.layout, own.states, wanted.states, expected_.at("projection"));
  EXPECT_NEAR(difference.item<float>() / 4, expected_.at("hidden").item<float>(), 1e-5);
  EXPECT_TRUE(at::allclose(own.outputs, student->forward(batch(), nullptr), 1e-6, 1e-6));
}

// Ranks that share a batch have its gradient, also where labels have weights.
TEST_F(DistillationGolden, PartsByTheirWeightsMakeTheWhole) {
  const auto student = golden("student", {0.5, 2, 1.25});
  const Distillation distillation(golden("teacher"), kBoth, *student);
  const auto gradients_after = [&](const std::vector<Batch>& batches) {
    double weight = 0;
    std::vector<at::Tensor> sums;
    for (const Batch& one : batches) {
      const Loss loss = step_loss(*student, one, kDistillStep, {}, &distillation);
      (loss.mean * loss.weight).backward();
      weight += loss.weight;
    }
    for (const auto& [name, parameter] : student->parameters()) {
      sums.push_back(parameter.grad() / weight);
      parameter.mutable_grad().reset();
    }
    return sums;
  };
  const auto whole = gradients_after({batch()});
  const auto parts = gradients_after({batch(0, 1), batch(1, 4)});
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_LE((whole[i] - parts[i]).abs().max().item<float>(), 5e-6)
        << student->parameters()[i].first;
  }
  EXPECT_GT(student->projection().numel(), 0);
}

TEST_F(DistillationGolden, TheSoftLossFollowsItsFormulaInDouble) {
  const auto student = golden("student");
  const at::Tensor t = at::tensor({2.0, -1.0, 0.5, 0.25, 3.0, -2.0}, at::kDouble).reshape({2, 3});
  const at::Tensor s = at::tensor({-0.5, 1.5, 0.0, 1.0, 1.0, 4.0}, at::kDouble).reshape({2, 3});
  constexpr double kTemperature = 2.5;
  double right = 0;
  for (int row = 0; row < 2; ++row) {
    double sum_t = 0;
    double sum_s = 0;
    for (int k = 0; k < 3; ++k) {
      sum_t += std::exp(t[row][k].item<double>() / kTemperature);
      sum_s += std::exp(s[row][k].item<double>() / kTemperature);
    }
    for (int k = 0; k < 3; ++k) {
      const double p = std::exp(t[row][k].item<double>() / kTemperature) / sum_t;
      const double q = std::exp(s[row][k].item<double>() / kTemperature) / sum_s;
      right += kTemperature * kTemperature * p * std::log(p / q) / 2;
    }
  }
  const Loss loss = soft_loss(*student, t, s, batch(0, 2), kTemperature);
  EXPECT_NEAR(loss.mean.item<double>(), right, 1e-14);
}

TEST(HiddenDifference, FollowsItsFormulaInDouble) {
  const Layout layout = make_layout({2, 1}, {7, 8});
  at::Tensor own = at::zeros({layout.tokens, 2}, at::kDouble);
  at::Tensor wanted = at::zeros({layout.tokens, 3}, at::kDouble);
  const double numbers[3][5] = {{1, 2, 3, 4, 5}, {-1, 0.5, 2, 1, 0}, {3, -2, 1, 1, 7}};
  for (int token = 0; token < 3; ++token) {
    for (int i = 0; i < 2; ++i) own[token][i] = numbers[token][i];
    for (int i = 0; i < 3; ++i) wanted[token][i] = numbers[token][2 + i];
  }
  const at::Tensor p = at::tensor({1.0, 0.5, -1.0, 2.0, 0.25, 0.75}, at::kDouble).reshape({3, 2});
  double of_token[3] = {};
  for (int token = 0; token < 3; ++token) {
    for (int i = 0; i < 3; ++i) {
      const double mapped =
          p[i][0].item<double>() * numbers[token][0] + p[i][1].item<double>() * numbers[token][1];
      of_token[token] += std::pow(mapped - numbers[token][2 + i], 2) / 3;
    }
  }
  const double right = (of_token[0] + of_token[1]) / 2 + of_token[2];
  const at::Tensor found = hidden_difference(layout, {own, own}, {wanted, wanted, wanted}, p);
  EXPECT_NEAR(found.item<double>(), right, 1e-13);
}

TEST(TeacherLayer, LayersAreMappedEvenly) {
  const auto layers = [](int student, int teacher) {
    std::vector<int> result;
    for (int i = 0; i <= student; ++i) result.push_back(teacher_layer(i, student, teacher));
    return result;
  };
  EXPECT_EQ(layers(2, 6), std::vector<int>({0, 3, 6}));
  EXPECT_EQ(layers(4, 12), std::vector<int>({0, 3, 6, 9, 12}));
  EXPECT_EQ(layers(4, 6), std::vector<int>({0, 2, 3, 5, 6}));
  EXPECT_EQ(layers(3, 2), std::vector<int>({0, 1, 1, 2}));
}

}  // namespace
}  // namespace bp::trainer

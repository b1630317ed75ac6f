// The golden model on a device: logits, loss and gradients must be those of transformers, and steps
// of training those of the host. On a machine with a GPU this runs there (BP_TEST_ON_GPU).
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "tests/support/fake_torch_device/use.h"
#include "tests/support/model_kernels_on_host/use.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/model/golden_tensors.h"
#include "tests/unit/model/small_families.h"
#include "trainer/model/bert.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

class GoldenOnDevice : public ::testing::Test {
 protected:
  std::map<std::string, at::Tensor> expected_ = read_tensors(kGolden + "/expected.safetensors");
  Batch batch_ = golden_batch(expected_);
  TrainingStep step_{1, 1};
};

// docs/acceptance.md, Devices: A model on a device has the numbers and gradients of transformers.
// docs/features.md, Launching: Training, evaluation and prediction on a GPU | `--device`
TEST_F(GoldenOnDevice, LogitsLossAndEveryGradientEqualTransformers) {
  Bert model(golden_config(0), make_classifier_head, Precision::fp32, 1, {}, test::torch_device());
  const LoadReport report = load_weights(model, kGolden + "/model.safetensors");
  EXPECT_THAT(report.missing, ::testing::IsEmpty());
  const at::Tensor logits = model.forward(batch_, &step_);
  EXPECT_EQ(logits.device(), test::torch_device());
  EXPECT_TRUE(at::allclose(logits.cpu(), expected_.at("logits"), 1e-5, 2e-6));
  const at::Tensor loss = model.loss(logits, batch_).mean;
  EXPECT_NEAR(loss.item<float>(), expected_.at("loss").item<float>(), 2e-6);
  loss.backward();
  for (const auto& [name, gradient] : gradients(model)) {
    EXPECT_TRUE(at::allclose(gradient.cpu(), expected_.at("grad." + name), 1e-4, 2e-6)) << name;
  }
}

TEST_F(GoldenOnDevice, EvaluationEqualsTransformers) {
  Bert model(golden_config(0.5), make_classifier_head, Precision::fp32, 1, {},
             test::torch_device());
  (void)load_weights(model, kGolden + "/model.safetensors");
  const at::Tensor logits = model.forward(batch_, nullptr);
  EXPECT_TRUE(logits.is_cpu());
  EXPECT_TRUE(at::allclose(logits, expected_.at("logits"), 1e-5, 2e-6));
}

TEST_F(GoldenOnDevice, HalfPrecisionIsNear) {
  for (const auto& [precision, rounding] :
       {std::pair{Precision::bf16, 0x1p-8}, std::pair{Precision::fp16, 0x1p-11}}) {
    const double scale = precision == Precision::fp16 ? 65536 : 1;
    Bert model(golden_config(0), make_classifier_head, precision, 1, {}, test::torch_device());
    (void)load_weights(model, kGolden + "/model.safetensors");
    const at::Tensor logits = model.forward(batch_, &step_);
    EXPECT_EQ(logits.scalar_type(), at::kFloat);
    EXPECT_LE(relative_error(logits, expected_.at("logits")), 5 * rounding);
    EXPECT_GT(relative_error(logits, expected_.at("logits")), 0.01 * rounding) << "it must round";
    (model.loss(logits, batch_).mean * scale).backward();
    for (const auto& [name, scaled] : gradients(model)) {
      EXPECT_EQ(scaled.scalar_type(), at::kFloat);
      if (name.ends_with("key.bias")) continue;  // it is 0 but for rounding
      EXPECT_LE(relative_error(scaled / scale, expected_.at("grad." + name)), 10 * rounding)
          << name;
    }
  }
}

// The same masks of dropout, and the same weights after each step but for roundings.
// docs/acceptance.md, Devices: A model on a device trains as on the CPU, with dropout.
TEST_F(GoldenOnDevice, TrainingWithDropoutIsThatOfTheHost) {
  Bert host(golden_config(0.3), make_classifier_head, Precision::fp32, 1);
  Bert device(golden_config(0.3), make_classifier_head, Precision::fp32, 1, {},
              test::torch_device());
  for (std::uint64_t number = 0; number < 3; ++number) {
    const TrainingStep step{1, number};
    double losses[2] = {};
    Bert* const models[2] = {&host, &device};
    for (int i = 0; i < 2; ++i) {
      Bert& model = *models[i];
      const at::Tensor loss = model.loss(model.forward(batch_, &step), batch_).mean;
      loss.backward();
      losses[i] = loss.item<double>();
      const at::NoGradGuard guard;
      for (const auto& [name, parameter] : model.parameters()) {
        parameter.detach().sub_(parameter.grad(), 0.5);
        parameter.grad().zero_();
      }
      model.parameters_changed();
    }
    EXPECT_NEAR(losses[1], losses[0], 1e-5) << "step " << number;
  }
  for (std::size_t i = 0; i < host.parameters().size(); ++i) {
    const auto& [name, parameter] = host.parameters()[i];
    EXPECT_TRUE(at::allclose(device.parameters()[i].second.cpu(), parameter, 1e-4, 1e-5)) << name;
  }
}

class FamiliesOnDevice : public ::testing::TestWithParam<SmallModel> {};

TEST_P(FamiliesOnDevice, HaveTheNumbersOfTransformers) {
  const SmallModel& small = GetParam();
  Bert model(small.spec(), make_classifier_head, Precision::fp32, 1, {}, test::torch_device());
  set_by_formula(model);
  const TrainingStep step{1, 1};
  const at::Tensor logits = model.forward(small.batch(), &step);
  for (std::size_t i = 0; i < small.logits.size(); ++i) {
    EXPECT_NEAR(logits.cpu().const_data_ptr<float>()[i], small.logits[i], 2e-6) << i;
  }
  model.loss(logits, small.batch()).mean.backward();
  double squares = 0;
  for (const auto& [name, parameter] : model.parameters()) {
    squares += parameter.grad().cpu().to(at::kDouble).square().sum().item<double>();
  }
  EXPECT_NEAR(std::sqrt(squares), small.gradient, 1e-5 * small.gradient);
}

INSTANTIATE_TEST_SUITE_P(All,
                         FamiliesOnDevice,
                         ::testing::ValuesIn(small_models()),
                         name_of_family);

}  // namespace
}  // namespace bp::trainer

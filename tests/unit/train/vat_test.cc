// Virtual adversarial training, compared with transformers and PyTorch (tests/golden/vat).
#include "trainer/train/methods/vat.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "tests/support/places.h"
#include "tests/unit/model/golden_tensors.h"
#include "trainer/model/noise.h"
#include "trainer/model/weights.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

constexpr Regularization kOptions{.vat_eps = 2, .vat_xi = 0.1};
constexpr double kWeight = 0.7;
const std::string kFolder = kSourceDir + "/tests/golden/vat";
const TrainingStep kVatStep{1, 0};

class Vat : public ::testing::Test {
 protected:
  Vat()
      : expected_(read_tensors(kFolder + "/expected.safetensors")),
        model_(read_config(kFolder + "/config.json"), make_classifier_head, Precision::fp32, 1),
        batch_(batch_of(expected_)) {
    EXPECT_THAT(load_weights(model_, kFolder + "/model.safetensors").missing, testing::IsEmpty());
    model_.parameters_changed();
  }

  static Batch batch_of(const std::map<std::string, at::Tensor>& expected) {
    Batch batch;
    batch.rows = 4;
    batch.length = 9;
    batch.token_ids = vector_of<std::int64_t>(expected.at("ids"));
    batch.lengths = vector_of<std::int32_t>(expected.at("lengths"));
    batch.arrays = {{.integers = vector_of<std::int64_t>(expected.at("labels"))}};
    batch.sample_ids = {100, 101, 102, 103};
    return batch;
  }
  // Returns the second sample as a batch of its own.
  [[nodiscard]] Batch second_sample() const {
    Batch one;
    one.rows = 1;
    one.length = batch_.lengths[1];
    const auto begin = batch_.token_ids.begin() + batch_.length;
    one.token_ids.assign(begin, begin + one.length);
    one.lengths = {batch_.lengths[1]};
    one.arrays = {{.integers = {batch_.arrays[0].integers[1]}}};
    one.sample_ids = {batch_.sample_ids[1]};
    return one;
  }
  // Returns the layout's rows of numbers of the batch's tokens: `tokens` with zeros behind it.
  [[nodiscard]] at::Tensor filled_up(const at::Tensor& tokens) const {
    const Layout layout = make_layout(batch_.lengths, batch_.sample_ids);
    at::Tensor all = at::zeros({layout.tokens, tokens.size(1)});
    all.slice(0, 0, tokens.size(0)).copy_(tokens);
    return all;
  }

  const std::map<std::string, at::Tensor> expected_;
  Bert model_;
  const Batch batch_;
};

// docs/acceptance.md, Training: VAT has PyTorch's perturbation, loss and gradients.
// docs/features.md, Models and losses: VAT and R-Drop | `--vat`, `--r-drop`
TEST_F(Vat, IsWhatPyTorchComputes) {
  const at::Tensor outputs = model_.forward(batch_, &kVatStep);
  const VatLoss vat(model_, batch_, kVatStep, outputs);
  const at::Tensor r = vat.perturbation(filled_up(expected_.at("noise")), kOptions);
  const at::Tensor& right = expected_.at("perturbation");
  // The gradient at a small perturbation is a difference of nearly equal probabilities.
  EXPECT_LE((r.slice(0, 0, right.size(0)) - right).abs().max().item<float>(), 2e-4);
  EXPECT_TRUE(at::equal(r, filled_up(r.slice(0, 0, right.size(0)))));
  const at::Tensor change = vat.of(r).mean;
  EXPECT_NEAR(change.item<float>(), expected_.at("divergence").item<float>(), 1e-5);

  // The search has left no gradient behind. Those of the loss come from both passes.
  for (const auto& [name, parameter] : model_.parameters()) {
    EXPECT_FALSE(parameter.grad().defined()) << name;
  }
  const at::Tensor loss = model_.loss(outputs, batch_).mean + kWeight * change;
  EXPECT_NEAR(loss.item<float>(), expected_.at("loss").item<float>(), 1e-5);
  loss.backward();
  const auto computed = gradients(model_);
  for (const auto& [name, gradient] : computed) {
    const at::Tensor& wanted = expected_.at("grad." + name);
    EXPECT_LE((gradient - wanted).abs().max().item<float>(), 1e-5) << name;
  }
  EXPECT_GT(computed.size(), 30U);
}

TEST_F(Vat, EachSampleHasItsOwnPerturbation) {
  const at::Tensor outputs = model_.forward(batch_, &kVatStep);
  const Layout layout = make_layout(batch_.lengths, batch_.sample_ids);
  const at::Tensor noise = normal_noise(layout, 12, kVatStep);
  const at::Tensor r = VatLoss(model_, batch_, kVatStep, outputs).perturbation(noise, kOptions);

  const Batch one = second_sample();
  const at::Tensor own_outputs = model_.forward(one, &kVatStep);
  const at::Tensor own_noise = normal_noise(make_layout(one.lengths, one.sample_ids), 12, kVatStep);
  const at::Tensor own =
      VatLoss(model_, one, kVatStep, own_outputs).perturbation(own_noise, kOptions);
  const at::Tensor second = r.slice(0, layout.offsets[1], layout.offsets[2]);
  EXPECT_LE((second - own.slice(0, 0, one.length)).abs().max().item<float>(), 1e-5);
  for (int row = 0; row < layout.rows; ++row) {
    const auto begin = layout.offsets[static_cast<std::size_t>(row)];
    EXPECT_NEAR(r.slice(0, begin, begin + layout.length(row)).norm().item<float>(), 2, 1e-4);
  }
}

TEST_F(Vat, ChangesThePredictionsMoreThanNoiseOfTheSameSize) {
  const at::Tensor outputs = model_.forward(batch_, &kVatStep);
  const VatLoss vat(model_, batch_, kVatStep, outputs);
  const Layout layout = make_layout(batch_.lengths, batch_.sample_ids);
  at::Tensor noise = normal_noise(layout, 12, {1, 77});
  const double found = vat.of(vat.perturbation(noise, kOptions)).mean.item<double>();
  for (int row = 0; row < layout.rows; ++row) {
    const auto begin = layout.offsets[static_cast<std::size_t>(row)];
    at::Tensor own = noise.slice(0, begin, begin + layout.length(row));
    own.mul_(kOptions.vat_eps / own.norm());
  }
  EXPECT_GT(found, 2 * vat.of(noise).mean.item<double>());
}

}  // namespace
}  // namespace bp::trainer

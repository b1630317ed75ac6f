// The heads compute the same on a device as on the CPU: outputs of states, losses, divergences, and
// their gradients.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bp/trainer/custom_task.h"
#include "tests/unit/model/on_device.h"
#include "tests/unit/tasks/small_model.h"
#include "trainer/model/head.h"
#include "trainer/model/passes/device_of.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"
#include "trainer/tasks/custom/custom_head.h"
#include "trainer/tasks/gap/gap_head.h"
#include "trainer/tasks/gap/gap_input.h"
#include "trainer/tasks/pretrain/pretrain_head.h"
#include "trainer/tasks/regress/regress_head.h"
#include "trainer/tasks/tokens/sentence_windows.h"
#include "trainer/tasks/tokens/token_head.h"

namespace bp::trainer {
namespace {

using at::Tensor;

TEST(OnDeviceOf, CopiesWhatLiesElsewhere) {
  const Tensor host = at::arange(6).view({2, 3});
  const Tensor device = on_device(at::zeros({1}));
  const Tensor copy = on_device_of(device, host.t());
  EXPECT_EQ(copy.device(), device.device());
  expect_equal(copy, host.t());
  EXPECT_TRUE(on_device_of(host, host).is_same(host));
  EXPECT_TRUE(on_device_of(device, copy).is_same(copy));
  expect_equal(on_device_of(host, copy), host.t());
  EXPECT_EQ(on_device_of(device, at::empty({0, 3})).sizes(), (std::vector<std::int64_t>{0, 3}));
}

// A head, with its own copy of the parameters on each side.
class OnBoth {
 public:
  OnBoth(const EncoderSpec& config, const HeadMaker& head)
      : here_(config, head, at::kCPU), there_(config, head, bp::test::torch_device()) {}

  // Compares the outputs of a pass over `states`, [tokens, hidden], the gradient of the head's own
  // parameters, and that of the states.
  void expect_same_outputs(const Batch& batch) const {
    at::manual_seed(3);
    const bool all = here_.head->reads() == States::all_tokens;
    const Tensor states = at::randn({all ? 5 : batch.rows, small_config().hidden});
    const Tensor here = states.clone().requires_grad_(true);
    const Tensor there = on_device(states).requires_grad_(true);
    const Tensor right = here_.outputs(here, batch);
    const Tensor got = there_.outputs(there, batch);
    expect_near(got.detach(), right.detach());
    right.select(1, 0).square().sum().backward();
    got.select(1, 0).square().sum().backward();
    expect_near(there.grad(), here.grad());
    for (std::size_t i = 0; i < here_.parameters.all().size(); ++i) {
      const Tensor& gradient = here_.parameters.all()[i].second.grad();
      if (gradient.defined()) expect_near(there_.parameters.all()[i].second.grad(), gradient);
    }
  }

  // `waits`: how often the host waits for the device.
  void expect_same_loss(const Tensor& outputs, const Batch& batch, int waits = 0) const {
    const Tensor here = outputs.clone().requires_grad_(true);
    const Tensor there = on_device(outputs).requires_grad_(true);
    const Loss right = here_.head->loss(here, batch);
    const auto before = bp::test::copies_to_host();
    const Loss got = there_.head->loss(there, batch);
    if (!bp::test::runs_on_gpu()) {
      EXPECT_EQ(bp::test::copies_to_host() - before, waits);
    }
    expect_same({got, there}, {right, here});
    const std::vector<Figure> figures = read_figures(got.figures);
    const std::vector<Figure> expected = read_figures(right.figures);
    ASSERT_EQ(figures.size(), expected.size());
    for (std::size_t i = 0; i < figures.size(); ++i) {
      EXPECT_EQ(figures[i].sum, expected[i].sum);
      EXPECT_EQ(figures[i].weight, expected[i].weight);
    }
  }

  void expect_same_divergence(const Tensor& outputs, const Batch& batch) const {
    const Tensor others = outputs.flip(0);
    const Tensor here = others.clone().requires_grad_(true);
    const Tensor there = on_device(others).requires_grad_(true);
    const Loss right = here_.head->divergence(outputs, here, batch);
    expect_same({there_.head->divergence(on_device(outputs), there, batch), there}, {right, here});
  }

 private:
  struct Differentiated {
    Loss loss;
    Tensor by;
  };
  static void expect_same(const Differentiated& got, const Differentiated& right) {
    EXPECT_EQ(got.loss.weight, right.loss.weight);
    expect_near(got.loss.mean.detach(), right.loss.mean.detach());
    got.loss.mean.backward();
    right.loss.mean.backward();
    expect_near(got.by.grad(), right.by.grad());
  }

  struct Side {
    Side(const EncoderSpec& config, const HeadMaker& make, at::Device device)
        : parameters(0.1, 1, device),
          encoder(config, Precision::fp32, nullptr, parameters),
          head(make(config, parameters)) {
      for (const auto& [name, parameter] : parameters.all()) parameter.requires_grad_(true);
    }
    [[nodiscard]] Tensor outputs(const Tensor& states, const Batch& batch) const {
      return head->forward(encoder, encoder.begin(batch, nullptr), states, batch);
    }
    Parameters parameters;
    Encoder encoder;
    std::unique_ptr<Head> head;
  };
  Side here_;
  Side there_;
};

Tensor numbers(at::IntArrayRef sizes) {
  at::manual_seed(2);
  return at::randn(sizes);
}

TEST(HeadsOnDevice, Classify) {
  for (const std::vector<double>& weights : {std::vector<double>{}, {0.5, 2, 1.25}}) {
    EncoderSpec config = small_config();
    config.head = head_of({.labels = {"a", "b", "c"}, .weights = weights});
    const OnBoth head(config, classifier_head({.label_smoothing = 0.1, .focal_gamma = 2}));
    Batch batch = small_batch();
    batch.arrays = {{.integers = {2, 0}}};
    head.expect_same_loss(numbers({2, 3}), batch);
    head.expect_same_divergence(numbers({2, 3}), batch);
  }
}

TEST(HeadsOnDevice, ClassifyWithAnyNumberOfLabels) {
  EncoderSpec config = small_config();
  config.head = head_of({.labels = {"a", "b", "c"}, .multi_label = true, .weights = {1, 2, 3}});
  const OnBoth head(config, classifier_head({.label_smoothing = 0.1, .focal_gamma = 2}));
  Batch batch = small_batch();
  batch.arrays = {{.width = 2, .integers = {0, 2, 1, -1}, .sizes = {2, 1}}};
  head.expect_same_loss(numbers({2, 3}), batch);
  head.expect_same_divergence(numbers({2, 3}), batch);
}

TEST(HeadsOnDevice, Regress) {
  const OnBoth head(small_config(), make_regress_head);
  Batch batch = small_batch();
  batch.arrays = {{.reals = {0.5, -2}}};
  head.expect_same_loss(numbers({2, 1}), batch);
  head.expect_same_divergence(numbers({2, 1}), batch);
}

TEST(HeadsOnDevice, Tokens) {
  EncoderSpec config = small_config();
  config.head = head_of({.labels = {"a", "b", "c"}});
  const OnBoth head(config, make_token_head);
  Batch batch = small_batch();
  batch.arrays = {{.integers = {1, kIgnoredTarget, 0, 2, 1, kIgnoredTarget}}};
  head.expect_same_outputs(batch);
  head.expect_same_loss(numbers({5, 3}), batch);
  head.expect_same_divergence(numbers({5, 3}), batch);
}

TEST(HeadsOnDevice, Gap) {
  Batch batch = small_batch();
  batch.arrays.resize(3);
  batch.arrays[kGapPositions].integers = {2, 0, 1, 1, 1, 0};
  batch.arrays[kGapLabel].integers = {2, 0};
  for (const GapHeadKind kind : {GapHeadKind::concat, GapHeadKind::mul}) {
    const OnBoth head(small_config(), make_gap_head(kind));
    head.expect_same_outputs(batch);
    head.expect_same_loss(numbers({2, 3}), batch);
    head.expect_same_divergence(numbers({2, 3}), batch);
  }
}

PretrainTargets targets() {
  return {.masked = {2, 1}, .positions = {2, 0, 1}, .ids = {3, 1, 8}, .next_sentence = {0, 1}};
}

TEST(HeadsOnDevice, MaskedTokens) {
  const OnBoth head(small_config(), [](const EncoderSpec& config, Parameters& parameters) {
    return make_pretrain_head(
        config, parameters, [](const Batch&) { return targets(); }, false);
  });
  head.expect_same_outputs(small_batch());
  head.expect_same_loss(at::tensor({0.5, 3.0, 2.0, 1.0, 0.25, 7.0}, at::kFloat).view({3, 2}),
                        small_batch());
}

// docs/acceptance.md, Devices: Every head computes on a device what it computes on the CPU, and
// none waits for the device in its loss.
TEST(HeadsOnDevice, MaskedTokensAndNextSentences) {
  const OnBoth head(small_config(), [](const EncoderSpec& config, Parameters& parameters) {
    return make_pretrain_head(
        config, parameters, [](const Batch&) { return targets(); }, true);
  });
  const Tensor outputs =
      at::tensor({0.5, 3.0, 2.0, 2.0, 0.25, 7.0, 0.75, 0.0, 1.5, 1.0}, at::kFloat).view({5, 2});
  head.expect_same_loss(outputs, small_batch());
}

// The mean of each sample's states, by a matrix; its losses are squares.
class MeanTask : public CustomTask {
 public:
  [[nodiscard]] std::string name() const override { return "mean"; }
  [[nodiscard]] std::vector<std::string> answers() const override { return {"one", "two"}; }
  [[nodiscard]] EncoderOutput reads() const override { return EncoderOutput::tokens; }
  [[nodiscard]] std::vector<HeadParameter> parameters(std::int64_t hidden) const override {
    return {{"mean.weight", {2, hidden}}};
  }
  [[nodiscard]] std::size_t outputs() const override { return 2; }
  [[nodiscard]] Tensor forward(const HeadInput& input) const override {
    const Tensor lengths = input.mask.sum(1, /*keepdim=*/true).to(at::kFloat);
    return at::linear(input.states.sum(1).div(lengths), input.parameters[0]);
  }
  [[nodiscard]] Tensor losses(const Tensor& outputs,
                              const Tensor& answers,
                              std::vector<Figure>& report) const override {
    report.push_back({"sum", answers.sum().item<double>(), 1});
    return (outputs - answers).square().sum(1);
  }
  [[nodiscard]] std::vector<std::string> columns() const override { return {}; }
  [[nodiscard]] std::vector<std::string> predict(
      std::span<const float> /*outputs*/) const override {
    return {};
  }
};

TEST(HeadsOnDevice, OfPrograms) {
  const OnBoth head(small_config(), custom_head(std::make_shared<MeanTask>()));
  head.expect_same_outputs(small_batch());
  Batch batch = small_batch();
  batch.arrays = {{.reals = {0.5, 1}}, {.reals = {2, -1}}};
  head.expect_same_loss(numbers({2, 2}), batch, /*waits=*/1);  // for the figure that it counts
}

}  // namespace
}  // namespace bp::trainer

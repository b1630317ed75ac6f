// The updates by LibTorch's operations equal those of the loops.
#include "trainer/optim/update_tensors.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/optim/update_rules.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr int kSteps = 5;

// More than a piece of LAMB's sums, in another order of memory; a bias; and a matrix of zeros.
std::vector<Tensor> start() {
  at::manual_seed(1);
  return {at::randn({401, 503}).t(), at::randn({5}), at::zeros({3, 4})};
}

OptimizerStep numbered(std::int64_t number) {
  return {.lr = 0.01, .weight_decay = 0.1, .number = number};
}

// Calls `other` in each of some steps where the rule changes a parameter, with the same numbers.
void expect_equal(
    const CustomOptimizer& rule,
    const std::function<void(Tensor&, const Tensor&, std::vector<Tensor>&, const OptimizerStep&)>&
        other) {
  const at::NoGradGuard no_grad;
  for (const Tensor& first : start()) {
    Tensor expected = first.clone();
    Tensor got = first.clone();
    std::vector<Tensor> moments(rule.moments().size());
    for (Tensor& moment : moments) moment = at::zeros_like(first);
    std::vector<Tensor> others = moments;
    for (Tensor& moment : others) moment = moment.clone();
    for (int number = 1; number <= kSteps; ++number) {
      const Tensor gradient = at::randn_like(first);
      rule.update(expected, gradient, moments, numbered(number));
      other(got, gradient, others, numbered(number));
    }
    EXPECT_TRUE(at::allclose(got, expected, 1e-5, 1e-6)) << first.sizes();
    EXPECT_GT((got - first).abs().max().item<float>(), 1e-3) << first.sizes();
    for (std::size_t i = 0; i < moments.size(); ++i) {
      EXPECT_TRUE(at::allclose(others[i], moments[i], 1e-5, 1e-7)) << rule.moments()[i];
    }
  }
}

TEST(UpdateTensors, OfLion) {
  const OptimizerOptions options{.beta1 = 0.9, .beta2 = 0.99};
  expect_equal(*make_rule("lion", options),
               [](Tensor& parameter, const Tensor& gradient, auto& moments, const auto& step) {
                 lion_update(parameter, gradient, moments[0],
                             {.beta1 = 0.9F,
                              .beta2 = 0.99F,
                              .lr = static_cast<float>(step.lr),
                              .kept = static_cast<float>(1 - step.lr * step.weight_decay)});
               });
}

TEST(UpdateTensors, OfLionLeaveAParameterWithoutAMean) {
  Tensor parameter = at::full({2}, 0.5, at::kFloat);
  Tensor mean = at::zeros({2});
  lion_update(parameter, at::tensor({0.0F, 1.0F}), mean, {.beta1 = 0.9F, .lr = 0.25F});
  EXPECT_TRUE(parameter.equal(at::tensor({0.5F, 0.25F})));
}

TEST(UpdateTensors, OfAdadelta) {
  const OptimizerOptions options{.epsilon = 1e-4, .rho = 0.95};
  expect_equal(*make_rule("adadelta", options),
               [](Tensor& parameter, const Tensor& gradient, auto& moments, const auto& step) {
                 adadelta_update(parameter, gradient, moments[0], moments[1],
                                 {.rho = 0.95F,
                                  .epsilon = 1e-4F,
                                  .lr = static_cast<float>(step.lr),
                                  .weight_decay = static_cast<float>(step.weight_decay)});
               });
}

TEST(UpdateTensors, OfLamb) {
  const OptimizerOptions options{.beta1 = 0.8, .beta2 = 0.99, .epsilon = 1e-6};
  expect_equal(*make_rule("lamb", options), [](Tensor& parameter, const Tensor& gradient,
                                               auto& moments, const OptimizerStep& step) {
    const auto number = static_cast<double>(step.number);
    lamb_update(parameter, gradient, moments[0], moments[1], step.lr,
                {.beta1 = 0.8F,
                 .beta2 = 0.99F,
                 .correction1 = static_cast<float>(1 / (1 - std::pow(0.8, number))),
                 .correction2 = static_cast<float>(1 / (1 - std::pow(0.99, number))),
                 .epsilon = 1e-6F,
                 .weight_decay = static_cast<float>(step.weight_decay)});
  });
}

}  // namespace
}  // namespace bp::trainer

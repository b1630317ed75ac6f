// The optimizer that the options of a run select, and its state in the form that checkpoints use.
#include "trainer/optim/optimizer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <torch/optim/adamw.h>

#include <cmath>
#include <vector>

#include "trainer/optim/optimizer_state.h"

namespace bp::trainer {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

NamedParameters parameters() {
  NamedParameters result;
  for (const char* name : {"dense.weight", "dense.bias", "LayerNorm.weight", "embeddings.weight"}) {
    result.emplace_back(name, at::full({2, 3}, 0.5, at::kFloat).requires_grad_(true));
  }
  return result;
}

void make_step(const NamedParameters& parameters, torch::optim::Optimizer& optimizer, double g) {
  for (const auto& [name, parameter] : parameters) {
    parameter.mutable_grad() = at::full({2, 3}, g, at::kFloat);
  }
  optimizer.step();
}

double decay_of(const torch::optim::OptimizerParamGroup& group) {
  return static_cast<const torch::optim::AdamWOptions&>(group.options()).weight_decay();
}

// docs/features.md, Optimization: Adam and AdamW, with decay of matrices only | `--optimizer`,
// `--weight-decay`
TEST(Optimizer, DecaysMatricesButNoBiasesAndNorms) {
  RunSettings options;
  options.weight_decay = 0.25;
  const NamedParameters all = parameters();
  const auto optimizer = make_optimizer(all, options);
  const auto& groups = optimizer->param_groups();
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(decay_of(groups[0]), 0.25);
  ASSERT_THAT(groups[0].params(), SizeIs(2));
  EXPECT_TRUE(groups[0].params()[0].is_same(all[0].second));
  EXPECT_TRUE(groups[0].params()[1].is_same(all[3].second));
  EXPECT_EQ(decay_of(groups[1]), 0);
  EXPECT_THAT(groups[1].params(), SizeIs(2));
}

// The rate of each layer is half of that of the layer above.
// docs/acceptance.md, Training: The rate of each layer follows its formula.
TEST(Optimizer, TheRateOfALayerFollowsTheFormula) {
  RunSettings options;
  options.layer_decay = 0.5;
  options.weight_decay = 0;
  options.optimizer = "sgd";
  NamedParameters all;
  for (const char* name :
       {"bert.embeddings.word_embeddings.weight", "bert.encoder.layer.0.output.dense.bias",
        "bert.encoder.layer.1.output.dense.weight", "bert.pooler.dense.weight",
        "classifier.weight"}) {
    all.emplace_back(name, at::full({2, 3}, 0.5, at::kFloat).requires_grad_(true));
  }
  for (const double decay : {0.5, 1.0}) {
    options.layer_decay = decay;
    const auto optimizer = make_optimizer(all, options);
    set_learning_rate(*optimizer, 0.25);
    std::vector<float> changes;
    for (const auto& [name, parameter] : all) parameter.detach().fill_(0.5);
    make_step(all, *optimizer, 1);
    for (const auto& [name, parameter] : all) {
      changes.push_back(0.5F - parameter.detach().min().item<float>());
      EXPECT_TRUE(parameter.detach().eq(0.5F - changes.back()).all().item<bool>());
    }
    const auto rate = [&](int k) { return static_cast<float>(0.25 * std::pow(decay, k)); };
    EXPECT_THAT(changes, ElementsAre(rate(3), rate(2), rate(1), rate(0), rate(0)));
  }
}

// docs/acceptance.md, Training: Frozen weights stay as they are and are not sent.
TEST(Optimizer, LeavesOutFrozenParameters) {
  const NamedParameters all = parameters();
  all[0].second.requires_grad_(false);
  const auto optimizer = make_optimizer(all, {});
  ASSERT_THAT(optimizer->param_groups()[0].params(), SizeIs(1));
  EXPECT_TRUE(optimizer->param_groups()[0].params()[0].is_same(all[3].second));
}

TEST(Optimizer, TheLearningRateIsThatOfAllGroups) {
  const NamedParameters all = parameters();
  const auto optimizer = make_optimizer(all, {});
  set_learning_rate(*optimizer, 0);
  make_step(all, *optimizer, 1);
  for (const auto& [name, parameter] : all) {
    EXPECT_EQ(parameter.detach().min().item<float>(), 0.5F) << name;
  }
  set_learning_rate(*optimizer, 0.125);
  make_step(all, *optimizer, 1);
  for (const auto& [name, parameter] : all) {
    EXPECT_LT(parameter.detach().max().item<float>(), 0.5F) << name;
  }
}

TEST(Optimizer, ItsStateMovesToAnotherOne) {
  const RunSettings options;
  EXPECT_THAT(moment_names(options), ElementsAre("exp_avg", "exp_avg_sq"));
  const NamedParameters all = parameters();
  const auto optimizer = make_optimizer(all, options);
  EXPECT_EQ(state_of(*optimizer).moment_names(), moment_names(options));
  EXPECT_EQ(state_of(*optimizer).state_of(all[0].second).step, 0)
      << "there is no state before the first step";
  for (const double g : {1.0, -0.5, 2.0}) make_step(all, *optimizer, g);

  const NamedParameters others = parameters();
  const auto other = make_optimizer(others, options);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ParameterState state = state_of(*optimizer).state_of(all[i].second);
    EXPECT_EQ(state.step, 3);
    ASSERT_THAT(state.moments, SizeIs(2));
    state_of(*other).set_state(others[i].second,
                               {state.step, {state.moments[0].clone(), state.moments[1].clone()}});
    at::NoGradGuard const no_grad;
    others[i].second.copy_(all[i].second);
  }
  make_step(all, *optimizer, 0.75);
  make_step(others, *other, 0.75);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(others[i].second.equal(all[i].second)) << all[i].first;
  }
}

}  // namespace
}  // namespace bp::trainer

#include "trainer/optim/optimizer.h"

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

#include "base/check.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/custom_optimizer.h"
#include "trainer/optim/model_parts.h"
#include "trainer/optim/optimizer_names.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_state.h"
#include "trainer/optim/update_rules.h"

namespace bp::trainer {
namespace {

// Returns null for AdamW, which is no CustomOptimizer.
std::shared_ptr<const CustomOptimizer> rule_of(const TrainOptions& options) {
  for (const auto& own : options.extensions.optimizers) {
    if (own->name() == options.optimizer) return own;
  }
  const OptimizerOptions numbers = optimizer_options(options);
  if (options.optimizer == "adam") return make_adam(numbers);
  if (options.optimizer == "sgd") return make_sgd(numbers);
  if (options.optimizer == "lion") return make_lion(numbers);
  if (options.optimizer == "lamb") return make_lamb(numbers);
  if (options.optimizer == "adadelta") return make_adadelta(numbers);
  BP_CHECK(options.optimizer == kAdamW, "there is no such optimizer");
  return nullptr;
}

// Two groups for each distance from the head: with weight decay, and without.
std::vector<DecayGroup> groups_of(const NamedParameters& parameters, const TrainOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) names.push_back(name);
  const int layers = layers_in(names);
  std::map<int, std::pair<DecayGroup, DecayGroup>> by_depth;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad()) continue;
    const int depth = options.layer_decay == 1 ? 0 : depth_below_head(name, layers);
    const double rate = std::pow(options.layer_decay, depth);
    auto& [decayed, others] = by_depth[depth];
    decayed = {std::move(decayed.parameters), options.weight_decay, rate};
    others = {std::move(others.parameters), 0, rate};
    const bool excepted = name.ends_with(".bias") || name.find("LayerNorm") != std::string::npos;
    (excepted ? others : decayed).parameters.push_back(parameter);
  }
  std::vector<DecayGroup> groups;
  for (auto& [depth, pair] : by_depth) {
    groups.push_back(std::move(pair.first));
    groups.push_back(std::move(pair.second));
  }
  return groups;
}

std::unique_ptr<torch::optim::Optimizer> optimizer_over(const std::vector<DecayGroup>& groups,
                                                        const TrainOptions& options) {
  if (const auto rule = rule_of(options)) return make_custom_optimizer(groups, rule);
  const OptimizerOptions numbers = optimizer_options(options);
  return make_fused_adamw(groups,
                          {.beta1 = numbers.beta1, .beta2 = numbers.beta2, .eps = numbers.epsilon});
}

}  // namespace

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const NamedParameters& parameters,
                                                        const TrainOptions& options) {
  const std::vector<DecayGroup> groups = groups_of(parameters, options);
  std::vector<double> factors;
  for (const DecayGroup& group : groups) factors.push_back(group.rate);
  auto optimizer = optimizer_over(groups, options);
  state_of(*optimizer).set_rate_factors(std::move(factors));
  return optimizer;
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double lr) {
  const OptimizerState& state = state_of(optimizer);
  std::vector<torch::optim::OptimizerParamGroup>& groups = optimizer.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].options().set_lr(lr * state.rate_factor(i));
  }
}

std::vector<std::string> moment_names(const TrainOptions& options) {
  const auto rule = rule_of(options);
  return rule == nullptr ? adamw_moments() : rule->moments();
}

OptimizerState& state_of(torch::optim::Optimizer& optimizer) {
  auto* const state = dynamic_cast<OptimizerState*>(&optimizer);
  BP_CHECK(state != nullptr, "make_optimizer() did not return this optimizer");
  return *state;
}

}  // namespace bp::trainer

#include "trainer/optim/optimizer.h"

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include "base/check.h"
#include "trainer/optim/adadelta.h"
#include "trainer/optim/adam.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/custom_optimizer.h"
#include "trainer/optim/lamb.h"
#include "trainer/optim/lion.h"
#include "trainer/optim/optimizer_names.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_state.h"
#include "trainer/optim/sgd.h"

namespace bp::trainer {
namespace {

// Returns null for AdamW, which is no CustomOptimizer.
std::shared_ptr<const CustomOptimizer> rule_of(const Options& options) {
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

}  // namespace

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const NamedParameters& parameters,
                                                        const Options& options) {
  DecayGroup decayed{{}, options.weight_decay};
  DecayGroup others{{}, 0};
  for (const auto& [name, parameter] : parameters) {
    const bool excepted = name.ends_with(".bias") || name.find("LayerNorm") != std::string::npos;
    (excepted ? others : decayed).parameters.push_back(parameter);
  }
  const std::vector<DecayGroup> groups = {std::move(decayed), std::move(others)};
  if (const auto rule = rule_of(options)) return make_custom_optimizer(groups, rule);
  const OptimizerOptions numbers = optimizer_options(options);
  return make_fused_adamw(groups,
                          {.beta1 = numbers.beta1, .beta2 = numbers.beta2, .eps = numbers.epsilon});
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double lr) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(lr);
}

std::vector<std::string> moment_names(const Options& options) {
  const auto rule = rule_of(options);
  return rule == nullptr ? adamw_moments() : rule->moments();
}

OptimizerState& state_of(torch::optim::Optimizer& optimizer) {
  auto* const state = dynamic_cast<OptimizerState*>(&optimizer);
  BP_CHECK(state != nullptr, "make_optimizer() did not return this optimizer");
  return *state;
}

}  // namespace bp::trainer

#include "trainer/optim/optimizer.h"

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include "base/check.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/custom_optimizer.h"
#include "trainer/optim/optimizer_names.h"
#include "trainer/optim/optimizer_state.h"

namespace bp::trainer {
namespace {

// Returns null unless the options ask for an optimizer of the program that extends bert_train.
std::shared_ptr<const CustomOptimizer> custom(const Options& options) {
  for (const auto& own : options.extensions.optimizers) {
    if (own->name() == options.optimizer) return own;
  }
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
  if (const auto own = custom(options)) return make_custom_optimizer(groups, own);
  return make_fused_adamw(groups, {.eps = options.epsilon});
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double lr) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(lr);
}

std::vector<std::string> moment_names(const Options& options) {
  const auto own = custom(options);
  return own == nullptr ? adamw_moments() : own->moments();
}

OptimizerState& state_of(torch::optim::Optimizer& optimizer) {
  auto* const state = dynamic_cast<OptimizerState*>(&optimizer);
  BP_CHECK(state != nullptr, "make_optimizer() did not return this optimizer");
  return *state;
}

}  // namespace bp::trainer

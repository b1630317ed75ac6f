#include "trainer/optim/optimizer.h"

#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include "base/check.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/optimizer_state.h"

namespace bp::trainer {

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const NamedParameters& parameters,
                                                        const Options& options) {
  DecayGroup decayed{{}, options.weight_decay};
  DecayGroup others{{}, 0};
  for (const auto& [name, parameter] : parameters) {
    const bool excepted = name.ends_with(".bias") || name.find("LayerNorm") != std::string::npos;
    (excepted ? others : decayed).parameters.push_back(parameter);
  }
  return make_fused_adamw({std::move(decayed), std::move(others)}, {.eps = options.epsilon});
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double lr) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(lr);
}

std::vector<std::string> moment_names(const Options& /*options*/) { return adamw_moments(); }

OptimizerState& state_of(torch::optim::Optimizer& optimizer) {
  auto* const state = dynamic_cast<OptimizerState*>(&optimizer);
  BP_CHECK(state != nullptr, "make_optimizer() did not return this optimizer");
  return *state;
}

}  // namespace bp::trainer

#include "trainer/optim/optimizer.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/optimizer.h>
#include <torch/optim/sgd.h>
#include <torch/serialize/archive.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "bp/torch/elementwise.h"
#include "bp/torch/portable_steps.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/model_parts.h"
#include "trainer/optim/optimizer_options.h"
#include "trainer/optim/optimizer_state.h"
#include "trainer/optim/update_rules.h"

namespace bp::trainer {
namespace {

// The learning rate and the weight decay of a group lie in SGDOptions, which have both.
using torch::optim::SGDOptions;

struct RuleState final : torch::optim::OptimizerCloneableParamState<RuleState> {
  ParameterState kept;
};

class CustomOptimizerAdapter : public torch::optim::Optimizer,
                               public OptimizerState,
                               public Elementwise {
 public:
  CustomOptimizerAdapter(const std::vector<torch::optim::OptimizerParamGroup>& groups,
                         std::shared_ptr<const CustomOptimizer> rule)
      : Optimizer(groups, std::make_unique<SGDOptions>(0)),
        rule_(std::move(rule)),
        part_rule_(dynamic_cast<const PartRule*>(rule_.get())) {}

  at::Tensor step(LossClosure closure) override {
    at::Tensor loss;
    if (closure) {
      const at::AutoGradMode with_grad(true);
      loss = closure();
    }
    const at::NoGradGuard no_grad;
    std::vector<PartUpdate> parts;
    for (torch::optim::OptimizerParamGroup& group : param_groups()) {
      const auto& options = static_cast<const SGDOptions&>(group.options());
      for (at::Tensor& parameter : group.params()) {
        if (!parameter.grad().defined()) continue;
        ParameterState& state = own_state(parameter);
        PartUpdate one{.part = parameter,
                       .gradient = laid_out_like(parameter, parameter.grad()),
                       .moments = state.moments,
                       .step = {.lr = options.lr(),
                                .weight_decay = options.weight_decay(),
                                .number = ++state.step}};
        if (parts_ != nullptr) one.place = parts_->place_of(parameter);
        if (one.place.parameter == nullptr) {
          rule_->update(parameter, one.gradient, state.moments, one.step);
        } else {
          parts.push_back(std::move(one));
        }
      }
    }
    if (!parts.empty()) part_rule_->update_parts(parts, *parts_);
    return loss;
  }

  [[nodiscard]] std::vector<std::string> moment_names() const override { return rule_->moments(); }
  [[nodiscard]] ParameterState state_of(const at::Tensor& parameter) const override {
    const auto found = state_.find(parameter.unsafeGetTensorImpl());
    return found == state_.end() ? ParameterState() : kept_in(*found->second);
  }
  void set_state(const at::Tensor& parameter, const ParameterState& state) override {
    kept_of(parameter) = state;
  }

  [[nodiscard]] bool is_elementwise() const override { return rule_->is_elementwise(); }
  void use_parts(const ParameterParts* parts) override {
    parts_ = part_rule_ == nullptr ? nullptr : parts;
  }
  [[nodiscard]] std::vector<at::Tensor*> tensors_of(
      torch::optim::OptimizerParamState& state) const override {
    std::vector<at::Tensor*> tensors;
    for (at::Tensor& moment : kept_in(state).moments) tensors.push_back(&moment);
    return tensors;
  }

  // The other ranks of a run that resumes get the state by these two. Their parameters may lie on
  // another device.
  void save(torch::serialize::OutputArchive& archive) const override {
    for_each_parameter([&](const std::string& key, const at::Tensor& parameter) {
      const ParameterState state = state_of(parameter);
      if (state.step == 0) return;
      archive.write("step" + key, c10::IValue(state.step));
      for (std::size_t i = 0; i < state.moments.size(); ++i) {
        archive.write(concat("moment", i, key), state.moments[i].cpu());
      }
    });
  }
  void load(torch::serialize::InputArchive& archive) override {
    state_.clear();
    for_each_parameter([&](const std::string& key, const at::Tensor& parameter) {
      c10::IValue step;
      if (!archive.try_read("step" + key, step)) return;
      ParameterState state{.step = step.toInt()};
      for (std::size_t i = 0; i < rule_->moments().size(); ++i) {
        at::Tensor& moment = state.moments.emplace_back();
        archive.read(concat("moment", i, key), moment);
        moment = moment.to(parameter.device());
      }
      set_state(parameter, state);
    });
  }

 private:
  // Calls `body` with a name and each parameter. The names are the same on all ranks.
  template <class Body>
  void for_each_parameter(const Body& body) const {
    std::size_t number = 0;
    for (const torch::optim::OptimizerParamGroup& group : param_groups()) {
      for (const at::Tensor& parameter : group.params()) body(concat("_", number++), parameter);
    }
  }

  static ParameterState& kept_in(torch::optim::OptimizerParamState& state) {
    return static_cast<RuleState&>(state).kept;
  }
  ParameterState& kept_of(const at::Tensor& parameter) {
    auto& state = state_[parameter.unsafeGetTensorImpl()];
    if (!state) state = std::make_unique<RuleState>();
    return kept_in(*state);
  }
  ParameterState& own_state(const at::Tensor& parameter) {
    ParameterState& state = kept_of(parameter);
    if (state.step == 0) {
      state.moments.clear();
      for (std::size_t i = 0; i < rule_->moments().size(); ++i) {
        state.moments.push_back(at::zeros_like(parameter));
      }
    }
    return state;
  }

  std::shared_ptr<const CustomOptimizer> rule_;
  const PartRule* part_rule_;              // the rule, if it is one
  const ParameterParts* parts_ = nullptr;  // for that, during a step that gets parts
};

class PortableAdapter final : public CustomOptimizerAdapter, public PortableSteps {
 public:
  using CustomOptimizerAdapter::CustomOptimizerAdapter;
};

// Returns an optimizer whose param_groups() have the order of `groups`. It implements
// OptimizerState. step() does not change a parameter without a gradient.
std::unique_ptr<torch::optim::Optimizer> make_custom_optimizer(
    const std::vector<DecayGroup>& groups, std::shared_ptr<const CustomOptimizer> rule) {
  std::vector<torch::optim::OptimizerParamGroup> param_groups;
  for (const DecayGroup& group : groups) {
    auto options = std::make_unique<SGDOptions>(0);
    options->weight_decay(group.weight_decay);
    param_groups.emplace_back(group.parameters, std::move(options));
  }
  if (dynamic_cast<const PortableSteps*>(rule.get()) != nullptr) {
    return std::make_unique<PortableAdapter>(param_groups, std::move(rule));
  }
  return std::make_unique<CustomOptimizerAdapter>(param_groups, std::move(rule));
}

// Returns null for AdamW, which is not a CustomOptimizer.
std::shared_ptr<const CustomOptimizer> rule_of(const TrainOptions& options) {
  for (const auto& own : options.extensions.optimizers) {
    if (own->name() == options.optimizer) return own;
  }
  auto rule = make_rule(options.optimizer, optimizer_options(options));
  BP_CHECK(rule != nullptr || options.optimizer == kAdamW, "there is no such optimizer");
  return rule;
}

// Two groups for each distance from the head: with weight decay, and without.
std::vector<DecayGroup> groups_of(const NamedParameters& parameters, const TrainOptions& options) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : parameters) names.push_back(name);
  const std::vector<std::string> layers = layers_in(names);
  std::map<int, std::pair<DecayGroup, DecayGroup>> by_depth;
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.requires_grad()) continue;
    const int depth = options.layer_decay == 1 ? 0 : depth_below_head(name, layers);
    const double rate = std::pow(options.layer_decay, depth);
    auto& [decayed, others] = by_depth[depth];
    decayed = {std::move(decayed.parameters), options.weight_decay, rate};
    others = {std::move(others.parameters), 0, rate};
    const bool excepted = name.ends_with(".bias") || is_of_norm(name);
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

#include "trainer/optim/custom_optimizer.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/sgd.h>
#include <torch/serialize/archive.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "trainer/optim/laid_out_like.h"
#include "trainer/optim/optimizer_state.h"

namespace bp::trainer {
namespace {

// The learning rate and the weight decay of a group lie in SGDOptions, which have both.
using torch::optim::SGDOptions;

class CustomOptimizerAdapter : public torch::optim::Optimizer, public OptimizerState {
 public:
  CustomOptimizerAdapter(const std::vector<torch::optim::OptimizerParamGroup>& groups,
                         std::shared_ptr<const CustomOptimizer> rule)
      : Optimizer(groups, std::make_unique<SGDOptions>(0)), rule_(std::move(rule)) {}

  at::Tensor step(LossClosure closure) override {
    at::Tensor loss;
    if (closure) {
      const at::AutoGradMode with_grad(true);
      loss = closure();
    }
    const at::NoGradGuard no_grad;
    for (torch::optim::OptimizerParamGroup& group : param_groups()) {
      const auto& options = static_cast<const SGDOptions&>(group.options());
      for (at::Tensor& parameter : group.params()) {
        if (!parameter.grad().defined()) continue;
        ParameterState& state = own_state(parameter);
        ++state.step;
        rule_->update(parameter, laid_out_like(parameter, parameter.grad()), state.moments,
                      {options.lr(), options.weight_decay(), state.step});
      }
    }
    return loss;
  }

  [[nodiscard]] std::vector<std::string> moment_names() const override { return rule_->moments(); }
  [[nodiscard]] ParameterState state_of(const at::Tensor& parameter) const override {
    const auto found = states_.find(parameter.unsafeGetTensorImpl());
    return found == states_.end() ? ParameterState() : found->second;
  }
  void set_state(const at::Tensor& parameter, const ParameterState& state) override {
    states_[parameter.unsafeGetTensorImpl()] = state;
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
    states_.clear();
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

  ParameterState& own_state(const at::Tensor& parameter) {
    ParameterState& state = states_[parameter.unsafeGetTensorImpl()];
    if (state.step == 0) {
      state.moments.clear();
      for (std::size_t i = 0; i < rule_->moments().size(); ++i) {
        state.moments.push_back(at::zeros_like(parameter));
      }
    }
    return state;
  }

  std::shared_ptr<const CustomOptimizer> rule_;
  std::map<const c10::TensorImpl*, ParameterState> states_;
};

}  // namespace

std::unique_ptr<torch::optim::Optimizer> make_custom_optimizer(
    const std::vector<DecayGroup>& groups, std::shared_ptr<const CustomOptimizer> rule) {
  std::vector<torch::optim::OptimizerParamGroup> param_groups;
  for (const DecayGroup& group : groups) {
    auto options = std::make_unique<SGDOptions>(0);
    options->weight_decay(group.weight_decay);
    param_groups.emplace_back(group.parameters, std::move(options));
  }
  return std::make_unique<CustomOptimizerAdapter>(param_groups, std::move(rule));
}

}  // namespace bp::trainer

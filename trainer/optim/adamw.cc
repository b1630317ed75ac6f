#include "trainer/optim/adamw.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/adamw.h>

#include <cstdint>
#include <map>
#include <utility>

namespace bp::trainer {
namespace {

using torch::optim::AdamWParamState;
using torch::optim::OptimizerParamGroup;

// What one call of the kernel takes: tensors of one type that have made the same number of steps.
struct TensorBatch {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> exp_avgs;
  std::vector<at::Tensor> exp_avg_sqs;
};

// The kernel walks the memory of all four tensors in parallel.
at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient) {
  if (gradient.strides() == parameter.strides()) {
    return gradient;
  }
  return at::empty_like(parameter).copy_(gradient);
}

class FusedAdamW : public torch::optim::AdamW {
 public:
  using AdamW::AdamW;

  at::Tensor step(LossClosure closure) override {
    at::Tensor loss;
    if (closure) {
      const at::AutoGradMode with_grad(true);
      loss = closure();
    }
    const at::NoGradGuard no_grad;
    for (OptimizerParamGroup& group : param_groups()) {
      step_group(group);
    }
    return loss;
  }

 private:
  AdamWParamState& state_of(const at::Tensor& parameter) {
    auto& slot = state_[parameter.unsafeGetTensorImpl()];
    if (!slot) {
      auto fresh = std::make_unique<AdamWParamState>();
      fresh->exp_avg(at::zeros_like(parameter));
      fresh->exp_avg_sq(at::zeros_like(parameter));
      slot = std::move(fresh);
    }
    return static_cast<AdamWParamState&>(*slot);
  }

  void step_group(OptimizerParamGroup& group) {
    std::map<std::pair<std::int64_t, at::ScalarType>, TensorBatch> batches;
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) {
        continue;
      }
      AdamWParamState& state = state_of(parameter);
      state.step(state.step() + 1);
      TensorBatch& batch = batches[{state.step(), parameter.scalar_type()}];
      batch.parameters.push_back(parameter);
      batch.gradients.push_back(laid_out_like(parameter, parameter.grad()));
      batch.exp_avgs.push_back(state.exp_avg());
      batch.exp_avg_sqs.push_back(state.exp_avg_sq());
    }
    const auto& options = static_cast<const torch::optim::AdamWOptions&>(group.options());
    const auto [beta1, beta2] = options.betas();
    for (auto& [key, batch] : batches) {
      const at::Tensor step = at::full({}, static_cast<double>(key.first), at::kFloat);
      const std::vector<at::Tensor> steps(batch.parameters.size(), step);
      at::_fused_adamw_(batch.parameters, batch.gradients, batch.exp_avgs, batch.exp_avg_sqs,
                        /*max_exp_avg_sqs=*/{}, steps, options.lr(), beta1, beta2,
                        options.weight_decay(), options.eps(), /*amsgrad=*/false,
                        /*maximize=*/false);
    }
  }
};

}  // namespace

std::unique_ptr<torch::optim::Optimizer> make_fused_adamw(const std::vector<DecayGroup>& groups,
                                                          const AdamWOptions& options) {
  const torch::optim::AdamWOptions defaults =
      torch::optim::AdamWOptions(options.lr).betas({options.beta1, options.beta2}).eps(options.eps);
  std::vector<OptimizerParamGroup> theirs;
  for (const DecayGroup& group : groups) {
    auto own = std::make_unique<torch::optim::AdamWOptions>(defaults);
    own->weight_decay(group.weight_decay);
    theirs.emplace_back(group.parameters, std::move(own));
  }
  return std::make_unique<FusedAdamW>(theirs, defaults);
}

}  // namespace bp::trainer

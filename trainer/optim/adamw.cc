#include "trainer/optim/adamw.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/adamw.h>
#include <torch/serialize/archive.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "bp/torch/elementwise.h"
#include "trainer/optim/adamw_rows.h"
#include "trainer/optim/optimizer_state.h"

namespace bp::trainer {
namespace {

using torch::optim::AdamWParamState;
using torch::optim::OptimizerParamGroup;

// The arguments of one call of the kernel: tensors of one type after the same number of steps.
struct TensorBatch {
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> gradients;
  std::vector<at::Tensor> exp_avgs;
  std::vector<at::Tensor> exp_avg_sqs;
};

class FusedAdamW : public torch::optim::AdamW,
                   public OptimizerState,
                   public Elementwise,
                   public RowSharing {
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

  // An archive may come from a rank whose parameters lie on another device.
  void load(torch::serialize::InputArchive& archive) override {
    AdamW::load(archive);
    rows_.clear();
    for (const OptimizerParamGroup& group : param_groups()) {
      for (const at::Tensor& parameter : group.params()) {
        const auto found = state_.find(parameter.unsafeGetTensorImpl());
        if (found == state_.end()) continue;
        auto& state = static_cast<AdamWParamState&>(*found->second);
        state.exp_avg(state.exp_avg().to(parameter.device()));
        state.exp_avg_sq(state.exp_avg_sq().to(parameter.device()));
      }
    }
  }

  void save(torch::serialize::OutputArchive& archive) const override {
    for (const auto& [parameter, rows] : rows_) require_up_to_date(rows);
    AdamW::save(archive);
  }

  [[nodiscard]] std::vector<std::string> moment_names() const override { return adamw_moments(); }

  void defer_rows(bool may) override { may_defer_ = may; }

  void catch_up(std::span<const std::int64_t> rows) override {
    for (auto& [parameter, own] : rows_) own.catch_up(rows);
  }

  void catch_up() override {
    for (auto& [parameter, rows] : rows_) rows.catch_up();
  }

  [[nodiscard]] ParameterState state_of(const at::Tensor& parameter) const override {
    const auto rows = rows_.find(parameter.unsafeGetTensorImpl());
    if (rows != rows_.end()) require_up_to_date(rows->second);
    const auto found = state_.find(parameter.unsafeGetTensorImpl());
    if (found == state_.end()) return {};
    auto& state = static_cast<AdamWParamState&>(*found->second);
    return {state.step(), {state.exp_avg(), state.exp_avg_sq()}};
  }

  void set_state(const at::Tensor& parameter, const ParameterState& state) override {
    auto own = std::make_unique<AdamWParamState>();
    own->step(state.step);
    own->exp_avg(state.moments.at(0));
    own->exp_avg_sq(state.moments.at(1));
    state_[parameter.unsafeGetTensorImpl()] = std::move(own);
    rows_.erase(parameter.unsafeGetTensorImpl());
  }

  [[nodiscard]] std::size_t bytes_for_rows(const at::Tensor& parameter) const override {
    return AdamWRows::bytes_of_notes(parameter.size(0));
  }
  void share_rows(const at::Tensor& parameter,
                  std::shared_ptr<std::byte> notes,
                  int rank,
                  int ranks) override {
    own_state(parameter);
    rows_.erase(parameter.unsafeGetTensorImpl());
    shares_[parameter.unsafeGetTensorImpl()] = {std::move(notes), rank, ranks};
  }

 private:
  static void require_up_to_date(const AdamWRows& rows) {
    BP_CHECK(!rows.is_behind(), "the optimizer has deferred updates: call catch_up() first");
  }

  AdamWParamState& own_state(const at::Tensor& parameter) {
    auto& slot = state_[parameter.unsafeGetTensorImpl()];
    if (!slot) {
      auto first = std::make_unique<AdamWParamState>();
      first->exp_avg(at::zeros_like(parameter));
      first->exp_avg_sq(at::zeros_like(parameter));
      slot = std::move(first);
    }
    return static_cast<AdamWParamState&>(*slot);
  }

  void step_rows(const at::Tensor& parameter,
                 const AdamWParamState& state,
                 const torch::optim::AdamWOptions& options) {
    const auto [beta1, beta2] = options.betas();
    const auto t = static_cast<double>(state.step());
    const AdamWStep numbers{
        .beta1 = static_cast<float>(beta1),
        .beta2 = static_cast<float>(beta2),
        .rate = static_cast<float>(options.lr() / (1 - std::pow(beta1, t))),
        .correction2 = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, t))),
        .epsilon = static_cast<float>(options.eps()),
        .kept = static_cast<float>(1 - options.lr() * options.weight_decay())};
    const void* const key = parameter.unsafeGetTensorImpl();
    const auto share = shares_.find(key);
    const auto [at, is_new] =
        rows_.try_emplace(key, parameter, state.exp_avg(), state.exp_avg_sq(),
                          share == shares_.end() ? RowShare() : share->second);
    at->second.step(parameter.grad().coalesce(), numbers, may_defer_);
  }

  // Makes the deferred updates of a parameter whose gradient is dense from now on.
  void end_rows(const at::Tensor& parameter) {
    const auto found = rows_.find(parameter.unsafeGetTensorImpl());
    if (found == rows_.end()) return;
    found->second.catch_up();
    rows_.erase(found);
  }

  void step_group(OptimizerParamGroup& group) {
    const auto& options = static_cast<const torch::optim::AdamWOptions&>(group.options());
    std::map<std::pair<std::int64_t, at::ScalarType>, TensorBatch> batches;
    for (const at::Tensor& parameter : group.params()) {
      if (!parameter.grad().defined()) {
        continue;
      }
      AdamWParamState& state = own_state(parameter);
      state.step(state.step() + 1);
      if (parameter.grad().is_sparse()) {
        step_rows(parameter, state, options);
        continue;
      }
      end_rows(parameter);
      TensorBatch& batch = batches[{state.step(), parameter.scalar_type()}];
      batch.parameters.push_back(parameter);
      batch.gradients.push_back(laid_out_like(parameter, parameter.grad()));
      batch.exp_avgs.push_back(state.exp_avg());
      batch.exp_avg_sqs.push_back(state.exp_avg_sq());
    }
    const auto [beta1, beta2] = options.betas();
    for (auto& [key, batch] : batches) {
      const at::Tensor step = at::full({}, static_cast<double>(key.first),
                                       batch.parameters.front().options().dtype(at::kFloat));
      const std::vector<at::Tensor> steps(batch.parameters.size(), step);
      at::_fused_adamw_(batch.parameters, batch.gradients, batch.exp_avgs, batch.exp_avg_sqs,
                        /*max_exp_avg_sqs=*/{}, steps, options.lr(), beta1, beta2,
                        options.weight_decay(), options.eps(), /*amsgrad=*/false,
                        /*maximize=*/false);
    }
  }

  // For each parameter whose last gradient was sparse.
  std::unordered_map<const void*, AdamWRows> rows_;
  std::unordered_map<const void*, RowShare> shares_;
  bool may_defer_ = false;
};

}  // namespace

std::unique_ptr<torch::optim::Optimizer> make_fused_adamw(const std::vector<DecayGroup>& groups,
                                                          const AdamWOptions& options) {
  const torch::optim::AdamWOptions defaults =
      torch::optim::AdamWOptions(options.lr).betas({options.beta1, options.beta2}).eps(options.eps);
  std::vector<OptimizerParamGroup> param_groups;
  for (const DecayGroup& group : groups) {
    auto group_options = std::make_unique<torch::optim::AdamWOptions>(defaults);
    group_options->weight_decay(group.weight_decay);
    param_groups.emplace_back(group.parameters, std::move(group_options));
  }
  return std::make_unique<FusedAdamW>(param_groups, defaults);
}

std::vector<std::string> adamw_moments() { return {"exp_avg", "exp_avg_sq"}; }

at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient) {
  if (gradient.is_sparse()) return laid_out_like(parameter, gradient.to_dense());
  if (gradient.strides() == parameter.strides()) return gradient;
  return at::empty_like(parameter).copy_(gradient);
}

}  // namespace bp::trainer

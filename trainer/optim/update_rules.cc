#include "trainer/optim/update_rules.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "bp/torch/portable_steps.h"
#include "trainer/optim/in_parallel.h"
#include "trainer/optim/update_loops.h"
#include "trainer/optim/update_tensors.h"

namespace bp::trainer {
namespace {

using Tensors = std::vector<at::Tensor>;

class Rule : public CustomOptimizer {
 public:
  Rule(std::string name, std::vector<std::string> moments, const OptimizerOptions& options)
      : options_(options), name_(std::move(name)), moments_(std::move(moments)) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::vector<std::string> moments() const override { return moments_; }

 protected:
  const OptimizerOptions options_;

 private:
  std::string name_;
  std::vector<std::string> moments_;
};

// A rule whose loops on the CPU are bp's own (update_loops.h).
class PortableRule : public Rule, public PortableSteps {
 public:
  using Rule::Rule;
};

class Adadelta : public PortableRule {
 public:
  using PortableRule::PortableRule;
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              Tensors& moments,
              const OptimizerStep& step) const override {
    const AdadeltaStep numbers{.rho = static_cast<float>(options_.rho),
                               .epsilon = static_cast<float>(options_.epsilon),
                               .lr = static_cast<float>(step.lr),
                               .weight_decay = static_cast<float>(step.weight_decay)};
    if (!parameter.is_cpu()) {
      return adadelta_update(parameter, gradient, moments[0], moments[1], numbers);
    }
    auto* const p = parameter.mutable_data_ptr<float>();
    const auto* const g = gradient.const_data_ptr<float>();
    auto* const s = moments[0].mutable_data_ptr<float>();
    auto* const d = moments[1].mutable_data_ptr<float>();
    in_parallel(parameter.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      adadelta_loop(end - begin, p + begin, g + begin, s + begin, d + begin, numbers);
    });
  }
};

class Adam : public Rule {
 public:
  using Rule::Rule;
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              Tensors& moments,
              const OptimizerStep& step) const override {
    const at::Tensor number =
        at::full({}, static_cast<double>(step.number), parameter.options().dtype(at::kFloat));
    at::_fused_adam_({parameter}, {gradient}, {moments[0]}, {moments[1]}, /*max_exp_avg_sqs=*/{},
                     {number}, step.lr, options_.beta1, options_.beta2, step.weight_decay,
                     options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
  }
};

class Lamb : public PortableRule {
 public:
  using PortableRule::PortableRule;
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              Tensors& moments,
              const OptimizerStep& step) const override {
    const LambStep numbers = numbers_of(step);
    if (!parameter.is_cpu()) {
      return lamb_update(parameter, gradient, moments[0], moments[1], step.lr, numbers);
    }
    const std::int64_t count = parameter.numel();
    auto* const p = parameter.mutable_data_ptr<float>();
    const auto* const g = gradient.const_data_ptr<float>();
    auto* const m = moments[0].mutable_data_ptr<float>();
    auto* const v = moments[1].mutable_data_ptr<float>();

    // The sums of fixed pieces are added in a fixed order, so that the result does not depend on
    // the number of threads.
    std::vector<LambSquares> squares(static_cast<std::size_t>((count + kGrain - 1) / kGrain));
    in_parallel(static_cast<std::int64_t>(squares.size()), 1,
                [&](std::int64_t begin, std::int64_t end) {
                  for (std::int64_t piece = begin; piece < end; ++piece) {
                    const std::int64_t at = piece * kGrain;
                    squares[static_cast<std::size_t>(piece)] = lamb_means_loop(
                        std::min(kGrain, count - at), p + at, g + at, m + at, v + at, numbers);
                  }
                });
    const double ratio = parameter.dim() < 2 ? 1 : trust_ratio(squares);
    const auto rate = static_cast<float>(step.lr * ratio);
    in_parallel(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
      lamb_update_loop(end - begin, p + begin, m + begin, v + begin, rate, numbers);
    });
  }

 private:
  [[nodiscard]] LambStep numbers_of(const OptimizerStep& step) const {
    const auto number = static_cast<double>(step.number);
    return {.beta1 = static_cast<float>(options_.beta1),
            .beta2 = static_cast<float>(options_.beta2),
            .correction1 = static_cast<float>(1 / (1 - std::pow(options_.beta1, number))),
            .correction2 = static_cast<float>(1 / (1 - std::pow(options_.beta2, number))),
            .epsilon = static_cast<float>(options_.epsilon),
            .weight_decay = static_cast<float>(step.weight_decay)};
  }

  static double trust_ratio(const std::vector<LambSquares>& pieces) {
    LambSquares sum;
    for (const LambSquares& piece : pieces) {
      sum.parameter += piece.parameter;
      sum.update += piece.update;
    }
    if (sum.parameter == 0 || sum.update == 0) return 1;
    return std::sqrt(sum.parameter) / std::sqrt(sum.update);
  }
};

class Lion : public PortableRule {
 public:
  using PortableRule::PortableRule;
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              Tensors& moments,
              const OptimizerStep& step) const override {
    const LionStep numbers{.beta1 = static_cast<float>(options_.beta1),
                           .beta2 = static_cast<float>(options_.beta2),
                           .lr = static_cast<float>(step.lr),
                           .kept = static_cast<float>(1 - step.lr * step.weight_decay)};
    if (!parameter.is_cpu()) return lion_update(parameter, gradient, moments[0], numbers);
    auto* const p = parameter.mutable_data_ptr<float>();
    const auto* const g = gradient.const_data_ptr<float>();
    auto* const m = moments[0].mutable_data_ptr<float>();
    in_parallel(parameter.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      lion_loop(end - begin, p + begin, g + begin, m + begin, numbers);
    });
  }
};

class Sgd : public Rule {
 public:
  using Rule::Rule;
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              Tensors& moments,
              const OptimizerStep& step) const override {
    at::_fused_sgd_({parameter}, {gradient}, moments, step.weight_decay, options_.momentum, step.lr,
                    /*dampening=*/0, options_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/step.number == 1);
  }
};

}  // namespace

std::shared_ptr<const CustomOptimizer> make_adadelta(const OptimizerOptions& options) {
  return std::make_shared<Adadelta>("adadelta", std::vector<std::string>{"square_avg", "acc_delta"},
                                    options);
}

std::shared_ptr<const CustomOptimizer> make_adam(const OptimizerOptions& options) {
  return std::make_shared<Adam>("adam", std::vector<std::string>{"exp_avg", "exp_avg_sq"}, options);
}

std::shared_ptr<const CustomOptimizer> make_lamb(const OptimizerOptions& options) {
  return std::make_shared<Lamb>("lamb", std::vector<std::string>{"exp_avg", "exp_avg_sq"}, options);
}

std::shared_ptr<const CustomOptimizer> make_lion(const OptimizerOptions& options) {
  return std::make_shared<Lion>("lion", std::vector<std::string>{"exp_avg"}, options);
}

std::shared_ptr<const CustomOptimizer> make_sgd(const OptimizerOptions& options) {
  std::vector<std::string> moments;
  if (options.momentum != 0) moments.emplace_back("momentum_buffer");
  return std::make_shared<Sgd>("sgd", std::move(moments), options);
}

}  // namespace bp::trainer

#include "trainer/optim/update_rules.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "bp/torch/portable_steps.h"
#include "trainer/optim/in_parallel.h"
#include "trainer/optim/update_loops.h"
#include "trainer/optim/update_tensors.h"

namespace bp::trainer {
namespace {

using Tensors = std::vector<at::Tensor>;

// One step of one parameter, and the options of the rule.
struct Update {
  at::Tensor& parameter;
  const at::Tensor& gradient;
  Tensors& moments;
  const OptimizerStep& step;
  const OptimizerOptions& options;
};

class Rule : public CustomOptimizer {
 public:
  using Step = void(const Update&);
  Rule(std::string name,
       std::vector<std::string> moments,
       Step* step,
       const OptimizerOptions& options)
      : name_(std::move(name)), moments_(std::move(moments)), step_(step), options_(options) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::vector<std::string> moments() const override { return moments_; }
  // Or a PartRule.
  [[nodiscard]] bool is_elementwise() const override { return true; }
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              Tensors& moments,
              const OptimizerStep& step) const override {
    step_({parameter, gradient, moments, step, options_});
  }

 protected:
  [[nodiscard]] const OptimizerOptions& options() const { return options_; }

 private:
  std::string name_;
  std::vector<std::string> moments_;
  Step* step_;
  OptimizerOptions options_;
};

// A rule whose loops on the CPU are bp's own (update_loops.h).
class PortableRule : public Rule, public PortableSteps {
 public:
  using Rule::Rule;
};

void adadelta(const Update& of) {
  const AdadeltaStep numbers{.rho = static_cast<float>(of.options.rho),
                             .epsilon = static_cast<float>(of.options.epsilon),
                             .lr = static_cast<float>(of.step.lr),
                             .weight_decay = static_cast<float>(of.step.weight_decay)};
  if (!of.parameter.is_cpu()) {
    return adadelta_update(of.parameter, of.gradient, of.moments[0], of.moments[1], numbers);
  }
  auto* const p = of.parameter.mutable_data_ptr<float>();
  const auto* const g = of.gradient.const_data_ptr<float>();
  auto* const s = of.moments[0].mutable_data_ptr<float>();
  auto* const d = of.moments[1].mutable_data_ptr<float>();
  in_parallel(of.parameter.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    adadelta_loop(end - begin, p + begin, g + begin, s + begin, d + begin, numbers);
  });
}

void adam(const Update& of) {
  const at::Tensor number =
      at::full({}, static_cast<double>(of.step.number), of.parameter.options().dtype(at::kFloat));
  at::_fused_adam_({of.parameter}, {of.gradient}, {of.moments[0]}, {of.moments[1]},
                   /*max_exp_avg_sqs=*/{}, {number}, of.step.lr, of.options.beta1, of.options.beta2,
                   of.step.weight_decay, of.options.epsilon, /*amsgrad=*/false, /*maximize=*/false);
}

// LAMB adds the sums of fixed pieces in a fixed order, so that the result depends neither on the
// number of threads nor on which rank has which part.
static_assert(ParameterParts::kPiece % kGrain == 0);
std::size_t pieces_in(const at::Tensor& tensor) {
  return static_cast<std::size_t>((tensor.numel() + kGrain - 1) / kGrain);
}

LambStep lamb_step(const Update& of) {
  const auto number = static_cast<double>(of.step.number);
  return {.beta1 = static_cast<float>(of.options.beta1),
          .beta2 = static_cast<float>(of.options.beta2),
          .correction1 = static_cast<float>(1 / (1 - std::pow(of.options.beta1, number))),
          .correction2 = static_cast<float>(1 / (1 - std::pow(of.options.beta2, number))),
          .epsilon = static_cast<float>(of.options.epsilon),
          .weight_decay = static_cast<float>(of.step.weight_decay)};
}

// Its first half, which also measures each piece of the parameter and of its update.
void lamb_moments(const Update& of, std::span<LambSquares> squares) {
  const LambStep numbers = lamb_step(of);
  const std::int64_t count = of.parameter.numel();
  const auto* const p = of.parameter.const_data_ptr<float>();
  const auto* const g = of.gradient.const_data_ptr<float>();
  auto* const m = of.moments[0].mutable_data_ptr<float>();
  auto* const v = of.moments[1].mutable_data_ptr<float>();
  in_parallel(std::ssize(squares), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t at = piece * kGrain;
      squares[static_cast<std::size_t>(piece)] =
          lamb_means_loop(std::min(kGrain, count - at), p + at, g + at, m + at, v + at, numbers);
    }
  });
}

// `pieces`: of the whole parameter.
double trust_ratio_of(const at::Tensor& parameter, std::span<const LambSquares> pieces) {
  LambSquares sum;
  for (const LambSquares& piece : pieces) {
    sum.parameter += piece.parameter;
    sum.update += piece.update;
  }
  if (parameter.dim() < 2 || sum.parameter == 0 || sum.update == 0) return 1;
  return std::sqrt(sum.parameter) / std::sqrt(sum.update);
}

// Its second half.
void lamb_parameter(const Update& of, double ratio) {
  const LambStep numbers = lamb_step(of);
  auto* const p = of.parameter.mutable_data_ptr<float>();
  const auto* const m = of.moments[0].const_data_ptr<float>();
  const auto* const v = of.moments[1].const_data_ptr<float>();
  const auto rate = static_cast<float>(of.step.lr * ratio);
  in_parallel(of.parameter.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    lamb_update_loop(end - begin, p + begin, m + begin, v + begin, rate, numbers);
  });
}

void lamb(const Update& of) {
  if (!of.parameter.is_cpu()) {
    return lamb_update(of.parameter, of.gradient, of.moments[0], of.moments[1], of.step.lr,
                       lamb_step(of));
  }
  std::vector<LambSquares> squares(pieces_in(of.parameter));
  lamb_moments(of, squares);
  lamb_parameter(of, trust_ratio_of(of.parameter, squares));
}

class Lamb final : public PortableRule, public PartRule {
 public:
  using PortableRule::PortableRule;
  void update_parts(std::span<PartUpdate> updates, const ParameterParts& parts) const override {
    if (!updates[0].part.is_cpu()) return update_on_device(updates, parts);
    const auto update = [this](PartUpdate& one) -> Update {
      return {one.part, one.gradient, one.moments, one.step, options()};
    };
    std::vector<LambSquares> squares;  // of the whole parameters, one after another
    for (PartUpdate& one : updates) {
      const std::size_t first = squares.size() + one.place.offset / kGrain;
      squares.resize(squares.size() + pieces_in(*one.place.parameter));
      lamb_moments(update(one), std::span(squares).subspan(first, pieces_in(one.part)));
    }
    static_assert(sizeof(LambSquares) == 2 * sizeof(double));
    parts.all_reduce({reinterpret_cast<double*>(squares.data()), 2 * squares.size()});
    std::span<const LambSquares> rest = squares;
    for (PartUpdate& one : updates) {
      const at::Tensor& whole = *one.place.parameter;
      lamb_parameter(update(one), trust_ratio_of(whole, rest.first(pieces_in(whole))));
      rest = rest.subspan(pieces_in(whole));
    }
  }

 private:
  // The host waits for the device once.
  void update_on_device(std::span<PartUpdate> updates, const ParameterParts& parts) const {
    Tensors directions;
    Tensors squares;  // of the pieces of whole parameters, and of their updates
    std::vector<std::int64_t> counts;
    for (PartUpdate& one : updates) {
      const LambStep numbers =
          lamb_step({one.part, one.gradient, one.moments, one.step, options()});
      directions.push_back(
          lamb_direction(one.part, one.gradient, one.moments[0], one.moments[1], numbers));
      counts.push_back(static_cast<std::int64_t>(pieces_in(*one.place.parameter)));
      squares.push_back(at::zeros({2, counts.back()}, one.part.options()));
      const at::Tensor own =
          at::stack({squares_of_pieces(one.part), squares_of_pieces(directions.back())});
      squares.back()
          .narrow(1, static_cast<std::int64_t>(one.place.offset) / kGrain, own.size(1))
          .copy_(own);
    }
    const at::Tensor all = at::cat(squares, 1).to(at::kCPU, at::kDouble);
    parts.all_reduce({all.mutable_data_ptr<double>(), static_cast<std::size_t>(all.numel())});
    squares = all.to(squares[0].options()).split_with_sizes(counts, 1);
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const bool is_matrix = updates[i].place.parameter->dim() >= 2;
      if (is_matrix) directions[i].mul_(trust_ratio(squares[i][0], squares[i][1]));
      updates[i].part.sub_(directions[i], updates[i].step.lr);
    }
  }
};

void lion(const Update& of) {
  const LionStep numbers{.beta1 = static_cast<float>(of.options.beta1),
                         .beta2 = static_cast<float>(of.options.beta2),
                         .lr = static_cast<float>(of.step.lr),
                         .kept = static_cast<float>(1 - of.step.lr * of.step.weight_decay)};
  if (!of.parameter.is_cpu()) {
    return lion_update(of.parameter, of.gradient, of.moments[0], numbers);
  }
  auto* const p = of.parameter.mutable_data_ptr<float>();
  const auto* const g = of.gradient.const_data_ptr<float>();
  auto* const m = of.moments[0].mutable_data_ptr<float>();
  in_parallel(of.parameter.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    lion_loop(end - begin, p + begin, g + begin, m + begin, numbers);
  });
}

void sgd(const Update& of) {
  at::_fused_sgd_({of.parameter}, {of.gradient}, of.moments, of.step.weight_decay,
                  of.options.momentum, of.step.lr, /*dampening=*/0, of.options.nesterov,
                  /*maximize=*/false, /*is_first_step=*/of.step.number == 1);
}

}  // namespace

std::shared_ptr<const CustomOptimizer> make_rule(const std::string& name,
                                                 const OptimizerOptions& options) {
  using Names = std::vector<std::string>;
  const auto fused = [&](const Names& moments, Rule::Step* step) {
    return std::make_shared<Rule>(name, moments, step, options);
  };
  const auto portable = [&](const Names& moments, Rule::Step* step) {
    return std::make_shared<PortableRule>(name, moments, step, options);
  };
  if (name == "adam") return fused({"exp_avg", "exp_avg_sq"}, adam);
  if (name == "sgd") return fused(options.momentum == 0 ? Names() : Names{"momentum_buffer"}, sgd);
  if (name == "lion") return portable({"exp_avg"}, lion);
  if (name == "lamb") {
    return std::make_shared<Lamb>(name, Names{"exp_avg", "exp_avg_sq"}, lamb, options);
  }
  if (name == "adadelta") return portable({"square_avg", "acc_delta"}, adadelta);
  return nullptr;
}

}  // namespace bp::trainer

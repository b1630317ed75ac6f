#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "trainer/optim/in_parallel.h"
#include "trainer/optim/update_loops.h"
#include "trainer/optim/update_rules.h"
#include "trainer/optim/update_tensors.h"

namespace bp::trainer {
namespace {

class Lamb : public CustomOptimizer {
 public:
  explicit Lamb(const OptimizerOptions& options) : options_(options) {}

  [[nodiscard]] std::string name() const override { return "lamb"; }
  [[nodiscard]] std::vector<std::string> moments() const override {
    return {"exp_avg", "exp_avg_sq"};
  }
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              std::vector<at::Tensor>& moments,
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

  OptimizerOptions options_;
};

}  // namespace

std::shared_ptr<const CustomOptimizer> make_lamb(const OptimizerOptions& options) {
  return std::make_shared<Lamb>(options);
}

}  // namespace bp::trainer

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "trainer/optim/in_parallel.h"
#include "trainer/optim/update_loops.h"
#include "trainer/optim/update_rules.h"
#include "trainer/optim/update_tensors.h"

namespace bp::trainer {
namespace {

class Lion : public CustomOptimizer {
 public:
  explicit Lion(const OptimizerOptions& options) : options_(options) {}

  [[nodiscard]] std::string name() const override { return "lion"; }
  [[nodiscard]] std::vector<std::string> moments() const override { return {"exp_avg"}; }
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              std::vector<at::Tensor>& moments,
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

 private:
  OptimizerOptions options_;
};

}  // namespace

std::shared_ptr<const CustomOptimizer> make_lion(const OptimizerOptions& options) {
  return std::make_shared<Lion>(options);
}

}  // namespace bp::trainer

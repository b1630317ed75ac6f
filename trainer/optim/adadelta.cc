#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "trainer/optim/in_parallel.h"
#include "trainer/optim/update_loops.h"
#include "trainer/optim/update_rules.h"
#include "trainer/optim/update_tensors.h"

namespace bp::trainer {
namespace {

class Adadelta : public CustomOptimizer {
 public:
  explicit Adadelta(const OptimizerOptions& options) : options_(options) {}

  [[nodiscard]] std::string name() const override { return "adadelta"; }
  [[nodiscard]] std::vector<std::string> moments() const override {
    return {"square_avg", "acc_delta"};
  }
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              std::vector<at::Tensor>& moments,
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

 private:
  OptimizerOptions options_;
};

}  // namespace

std::shared_ptr<const CustomOptimizer> make_adadelta(const OptimizerOptions& options) {
  return std::make_shared<Adadelta>(options);
}

}  // namespace bp::trainer

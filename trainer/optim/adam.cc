#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/full.h>

#include <string>
#include <vector>

#include "trainer/optim/update_rules.h"

namespace bp::trainer {
namespace {

class Adam : public CustomOptimizer {
 public:
  explicit Adam(const OptimizerOptions& options) : options_(options) {}

  [[nodiscard]] std::string name() const override { return "adam"; }
  [[nodiscard]] std::vector<std::string> moments() const override {
    return {"exp_avg", "exp_avg_sq"};
  }
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              std::vector<at::Tensor>& moments,
              const OptimizerStep& step) const override {
    const at::Tensor number =
        at::full({}, static_cast<double>(step.number), parameter.options().dtype(at::kFloat));
    at::_fused_adam_({parameter}, {gradient}, {moments[0]}, {moments[1]}, /*max_exp_avg_sqs=*/{},
                     {number}, step.lr, options_.beta1, options_.beta2, step.weight_decay,
                     options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
  }

 private:
  OptimizerOptions options_;
};

}  // namespace

std::shared_ptr<const CustomOptimizer> make_adam(const OptimizerOptions& options) {
  return std::make_shared<Adam>(options);
}

}  // namespace bp::trainer

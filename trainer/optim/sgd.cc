#include <ATen/core/Tensor.h>
#include <ATen/ops/_fused_sgd.h>

#include <string>
#include <vector>

#include "trainer/optim/update_rules.h"

namespace bp::trainer {
namespace {

class Sgd : public CustomOptimizer {
 public:
  explicit Sgd(const OptimizerOptions& options) : options_(options) {}

  [[nodiscard]] std::string name() const override { return "sgd"; }
  [[nodiscard]] std::vector<std::string> moments() const override {
    if (options_.momentum == 0) return {};
    return {"momentum_buffer"};
  }
  void update(at::Tensor& parameter,
              const at::Tensor& gradient,
              std::vector<at::Tensor>& moments,
              const OptimizerStep& step) const override {
    at::_fused_sgd_({parameter}, {gradient}, moments, step.weight_decay, options_.momentum, step.lr,
                    /*dampening=*/0, options_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/step.number == 1);
  }

 private:
  OptimizerOptions options_;
};

}  // namespace

std::shared_ptr<const CustomOptimizer> make_sgd(const OptimizerOptions& options) {
  return std::make_shared<Sgd>(options);
}

}  // namespace bp::trainer

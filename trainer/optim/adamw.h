// AdamW by LibTorch's fused kernel. It makes one pass over parameters, gradients and moments. On a
// CPU it is about six times as fast as torch::optim::AdamW, which makes a dozen passes. A sparse
// gradient of fp32 on the CPU makes the step of a dense one, by bp's own loops (adamw_rows.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace at {
class Tensor;
}
namespace torch::optim {
class Optimizer;
}

namespace bp::trainer {

struct AdamWOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
};

// Parameters that share a weight decay and a learning rate.
struct DecayGroup {
  std::vector<at::Tensor> parameters;
  double weight_decay = 0;
  double rate = 1;  // as a factor of the run's, which make_optimizer() heeds
};

// Returns an optimizer whose param_groups() have the order of `groups`. It differs from
// torch::optim::AdamW in step() only: options, state, save() and load() are the same, so each loads
// what the other saved. step() does not change a parameter without a gradient. The optimizer
// implements OptimizerState (optimizer_state.h).
[[nodiscard]] std::unique_ptr<torch::optim::Optimizer> make_fused_adamw(
    const std::vector<DecayGroup>& groups, const AdamWOptions& options);

// Returns the names of its moments: "exp_avg", "exp_avg_sq".
[[nodiscard]] std::vector<std::string> adamw_moments();

// Returns `gradient`, or a dense copy of it, with its memory in the order of the parameter's. The
// loops of the optimizers read parameters, gradients and moments in the order of memory.
[[nodiscard]] at::Tensor laid_out_like(const at::Tensor& parameter, const at::Tensor& gradient);

}  // namespace bp::trainer

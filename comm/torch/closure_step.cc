#include "comm/torch/closure_step.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/optim/lbfgs.h>

#include <vector>

#include "comm/torch/misuse.h"
#include "comm/torch/part_exchange.h"

namespace bp {
void ClosureStep::require_step_possible() const {
  if (in_closure_) {
    refuse("step() inside the closure of step(closure): leave it out, the optimizer steps itself");
  }
  require_no_closure_needed("step()");
}

void ClosureStep::require_backward_possible() const {
  if (!in_closure_) {
    require_no_closure_needed("backward()");
  }
}

void ClosureStep::require_no_closure_needed(std::string_view call) const {
  if (state_is_on_rank_0_) {
    refuse(call,
           " after step(closure), which keeps the wrapped optimizer's state on rank 0: call "
           "broadcast_parameters() in between");
  }
  if (dynamic_cast<const torch::optim::LBFGS*>(&optimizer_) != nullptr) {
    refuse(call,
           " with LBFGS, which evaluates the loss several times: call step(closure), with a "
           "closure that calls backward(loss, weight)");
  }
}

void ClosureStep::require_possible(const std::function<void()>& closure) const {
  if (!closure || in_closure_) {
    refuse("step(closure) ", in_closure_ ? "inside a closure" : "without one",
           ": give it a closure that calls backward(loss, weight)");
  }
  if (window_.can_overflow()) {
    refuse(
        "step(closure) cannot skip a window that overflows: leave out loss_scaling, "
        "error_feedback and wire = f16 or i8");
  }
}

void ClosureStep::run(const std::function<void()>& closure) {
  const ScopedFlag in_closure(in_closure_);
  state_is_on_rank_0_ = comm_.size() > 1;
  if (comm_.rank() == 0) {
    lead(closure);
  } else {
    while (agree(false)) evaluate(closure);
  }
}

void ClosureStep::lead(const std::function<void()>& closure) {
  optimizer_.step([&] {
    agree(true);
    return at::scalar_tensor(evaluate(closure), parameters_.trained[0].tensor.options());
  });
  agree(false);
}

// Gives all ranks rank 0's parameters. Returns whether rank 0 says that they evaluate the loss.
bool ClosureStep::agree(bool evaluates) {
  std::vector<at::Tensor> tensors;
  for (const Parameter& parameter : parameters_.trained) tensors.push_back(parameter.tensor);
  tensors.push_back(at::scalar_tensor(evaluates, at::kBool));
  broadcast_tensors(comm_, tensors, 0);
  return tensors.back().item<bool>();
}

// Returns the mean loss of all ranks for the present parameters, which get its gradient.
double ClosureStep::evaluate(const std::function<void()>& closure) {
  window_.end();
  {
    const at::AutoGradMode with_gradients(true);
    closure();
  }
  window_.reduce();
  const GradientWindow::Result result = window_.result();
  if (result.weight <= 0) {
    refuse("step(closure): the closure made no backward(loss, weight) with a weight on any rank");
  }
  return result.loss;
}

}  // namespace bp

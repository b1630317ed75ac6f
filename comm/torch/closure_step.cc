// The step of an optimizer that evaluates the loss itself, as LBFGS does. Rank 0's optimizer
// decides where the loss is evaluated next and when that ends: its sums depend on threads and
// instruction set, so ranks that each ran their own would not stay equal.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/optim/lbfgs.h>

#include <utility>

#include "comm/torch/optimizer_impl.h"
#include "comm/torch/refuse.h"

namespace bp {
namespace {

constexpr std::string_view kEvaluate = "step(closure)";

}  // namespace

void DistributedOptimizer::Impl::require_no_closure_needed() const {
  if (in_closure_) {
    refuse("step() inside the closure of step(closure): leave it out, the optimizer steps itself");
  }
  if (state_is_on_rank_0_) {
    refuse(
        "step() after step(closure), which keeps the wrapped optimizer's state on rank 0: call "
        "broadcast_parameters() in between");
  }
  if (dynamic_cast<const torch::optim::LBFGS*>(optimizer_.get()) != nullptr) {
    refuse(
        "step() of LBFGS, which evaluates the loss several times: call step(closure), with a "
        "closure that calls backward(loss, weight)");
  }
}

bool DistributedOptimizer::Impl::step(const std::function<void()>& closure) {
  require_usable();
  require_between_windows("step(closure)");
  if (!closure || in_closure_) {
    refuse("step(closure) ", in_closure_ ? "inside a closure" : "without one",
           ": give it a closure that calls backward(loss, weight)");
  }
  if (can_overflow_) {
    refuse(
        "step(closure) cannot skip a window that overflows: leave out loss_scaling, "
        "error_feedback and wire = f16");
  }
  unusable_if_it_throws([&] {
    in_closure_ = true;
    agree_on_members();
    if (comm_.size() > 1 && !moving_) {
      moving_.emplace(comm_, parameters_.trained);
    }
    state_is_on_rank_0_ = comm_.size() > 1;
    if (comm_.rank() == 0) {
      lead(closure);
    } else {
      follow(closure);
    }
    end_window();
    share_buffers(0);
    in_closure_ = false;
  });
  return true;
}

void DistributedOptimizer::Impl::lead(const std::function<void()>& closure) {
  const auto announce = [&](bool evaluates) {
    if (moving_) {
      moving_->broadcast(0, evaluates, kEvaluate);
    }
  };
  optimizer_->step([&] {
    announce(true);
    return at::scalar_tensor(evaluate(closure), parameters_.trained[0].tensor.options());
  });
  announce(false);
}

void DistributedOptimizer::Impl::follow(const std::function<void()>& closure) {
  while (moving_->broadcast(0, false, kEvaluate)) {
    evaluate(closure);
  }
}

// The mean loss over all ranks where the parameters are now; its gradient is theirs.
double DistributedOptimizer::Impl::evaluate(const std::function<void()>& closure) {
  end_window();
  {
    const at::AutoGradMode with_gradients(true);
    closure();
  }
  reduce();
  if (window_->weight <= 0) {
    refuse("step(closure): the closure made no backward(loss, weight) with a weight on any rank");
  }
  return window_->loss;
}

}  // namespace bp

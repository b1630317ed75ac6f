// What is behind DistributedOptimizer: its parts, and the state machine over them. Construction,
// broadcasts and saved state are in distributed_optimizer.cc, the life of a window in window.cc,
// steps with a closure in closure_step.cc.
#pragma once

#include <ATen/core/grad_mode.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "bp/error.h"
#include "bp/torch/distributed_optimizer.h"
#include "comm/torch/gradient_hooks.h"
#include "comm/torch/gradients.h"
#include "comm/torch/loss_scale.h"
#include "comm/torch/packed_tensors.h"
#include "comm/torch/parameters.h"

namespace bp {

class DistributedOptimizer::Impl {
 public:
  Impl(Communicator& comm,
       const NamedTensors& parameters,
       std::unique_ptr<torch::optim::Optimizer> optimizer,
       const DistributedOptimizerOptions& options);

  void broadcast_parameters(int root);
  void backward(const at::Tensor& loss, double weight, bool retain_graph);
  void zero_grad() const;
  void reduce();
  double clip_grad_norm(double max_norm);
  bool step();
  bool step(const std::function<void()>& closure);
  Window window() const;
  State state() const;
  void load_state(const State& state);

  void request_stop() { stop_requested_ = true; }
  double nominal_weight() const { return nominal_weight_; }
  const Gradients& gradients() const { return gradients_; }
  torch::optim::Optimizer& optimizer() { return *optimizer_; }

 private:
  enum class Phase : std::uint8_t { accumulating, reducing, reduced };

  template <class Action>
  void unusable_if_it_throws(Action action);
  void require_usable() const;
  void require_between_windows(const char* call) const;
  void require_backward_makes_sense(const at::Tensor& loss, double weight) const;
  void agree_on_members();
  void agree_on_nominal_weight(double first_weight);
  void run_backward(const at::Tensor& loss, double weight, bool retain_graph);
  void close_window();
  void agree_on_bucket_order(std::vector<std::size_t> mine);
  void finish_reduction();
  void end_window();
  void require_no_closure_needed() const;
  void lead(const std::function<void()>& closure);
  void follow(const std::function<void()>& closure);
  double evaluate(const std::function<void()>& closure);
  void share_buffers(int root);
  void warn_of_missing();
  void scale_gradients(double coefficient);

  Communicator& comm_;
  DistributedOptimizerOptions options_;
  ParameterSet parameters_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::optional<Members> members_;  // of optimizer_, as all ranks have agreed
  Gradients gradients_;
  LossScale loss_scale_;
  GradientHooks hooks_;
  std::optional<PackedTensors> buffers_;  // of options_.buffers, with several ranks
  std::optional<PackedTensors> moving_;   // parameters, from the first step(closure) on

  Phase phase_ = Phase::accumulating;
  int backwards_ = 0;  // in this window
  Totals mine_;        // of this window
  double nominal_weight_;
  double pending_scale_ = 1;  // what reduced gradients are still to be multiplied by
  std::optional<Window> window_;
  bool stop_requested_ = false;
  bool in_backward_ = false;
  bool warned_ = false;
  bool can_overflow_;  // and a step be skipped therefore
  bool in_closure_ = false;
  bool state_is_on_rank_0_ = false;  // the wrapped optimizer's
  std::string failure_;
};

// An action that ends halfway leaves this rank's window, or the communicator, in a state from which
// nothing true can be computed.
template <class Action>
void DistributedOptimizer::Impl::unusable_if_it_throws(Action action) {
  const at::NoGradGuard no_grad;
  try {
    action();
  } catch (const std::exception& error) {
    failure_ = error.what();
    in_backward_ = false;
    in_closure_ = false;
    throw;
  }
}

}  // namespace bp

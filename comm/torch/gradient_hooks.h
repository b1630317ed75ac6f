// Calls before and after autograd accumulates a gradient into one of a list of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "comm/torch/parameter_set.h"

namespace torch::autograd {
struct Node;
}

namespace bp {

// The destructor removes the hooks.
class GradientHooks {
 public:
  // Both get the index of the parameter. If `takes` returns true, autograd does not accumulate the
  // gradient, and the other is not called.
  struct Calls {
    std::function<bool(std::size_t, const at::Tensor& gradient)> takes;
    std::function<void(std::size_t)> arrived;
  };
  // Autograd calls within backward(): on the thread that called it or, for a parameter on a device,
  // on autograd's one thread for that device while the former waits. backward() throws what a call
  // throws. The constructor throws invalid_argument if a tensor has such hooks already, since
  // LibTorch keeps one per tensor.
  GradientHooks(const std::vector<Parameter>& parameters, Calls calls);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

  // Must be called before each backward pass, whose gradients are multiplied by `factor` before
  // anything else. LibTorch forgets a part of the hooks of a parameter that has had another type or
  // device for a time. Sets it again.
  void renew(double factor = 1);

  // Returns the object whose hooks the leaf has, or null.
  [[nodiscard]] static GradientHooks* of(const at::Tensor& leaf);

  // While it exists, gradients for the tensors of `these` are dropped, without a call.
  class Shield {
   public:
    explicit Shield(std::vector<GradientHooks*> these);
    ~Shield();
    Shield(const Shield&) = delete;
    Shield& operator=(const Shield&) = delete;

   private:
    std::vector<GradientHooks*> these_;
  };

 private:
  class Before;
  class After;
  void remove_before(torch::autograd::Node& node) const;
  void remove() noexcept;

  std::vector<at::Tensor> tensors_;
  // A tensor does not own the node that accumulates its gradient, which has the hook.
  std::vector<std::shared_ptr<torch::autograd::Node>> nodes_;
  std::vector<bool> dropped_;  // the gradient that comes now, of each tensor
  Calls calls_;
  double factor_ = 1;
  int shields_ = 0;
};

// What a backward pass from a loss would reach, from one walk over autograd's graph.
struct LossGraph {
  std::vector<at::Tensor> leaves = {};      // those that belong to no other optimizer
  std::vector<GradientHooks*> others = {};  // the optimizers of the other leaves, each once
  // There is a step that is not LibTorch's own, such as a torch::autograd::Function. It may run a
  // backward pass of its own, whose leaves no walk sees.
  bool runs_other_code = false;
};

// `own`: the optimizer whose loss it is.
[[nodiscard]] LossGraph graph_of(const at::Tensor& loss, const GradientHooks& own);

}  // namespace bp

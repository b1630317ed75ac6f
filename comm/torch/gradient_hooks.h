// Calls back whenever autograd has accumulated a gradient into one of a list of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "comm/torch/parameters.h"

namespace bp {

// The destructor removes the hooks.
class GradientHooks {
 public:
  // Autograd calls `arrived(i)`, with the index of the parameter, within backward(): on the thread
  // that called it or, for a parameter on a device, on autograd's one thread for that device while
  // the former waits. backward() throws what it throws. The constructor throws invalid_argument if
  // a tensor has such a hook already, since LibTorch keeps one per tensor.
  GradientHooks(const std::vector<Parameter>& parameters, std::function<void(std::size_t)> arrived);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

 private:
  class Hook;
  void remove() noexcept;

  std::vector<at::Tensor> tensors_;
  std::function<void(std::size_t)> arrived_;
};

}  // namespace bp

// Calls back whenever autograd has accumulated a gradient into one of a list of tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "comm/torch/parameters.h"

namespace bp {

// The hooks are gone when this object is.
class GradientHooks {
 public:
  // `arrived(i)` is called with the index of the parameter, inside backward() and on its thread;
  // what it throws comes out of backward(). Throws invalid_argument if a tensor has such a hook
  // already (LibTorch keeps one a tensor).
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

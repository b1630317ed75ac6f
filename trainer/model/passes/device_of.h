// Moves tensors to the device that computes with them.
#pragma once

#include <ATen/core/Tensor.h>

#include <c10/core/Device.h>

namespace bp::trainer {

// Returns `x` on a device: itself if it lies there already, else a copy. The host does not wait for
// a copy from its own memory, and may change or release `x` at once. It waits for the others.
[[nodiscard]] at::Tensor to_device(const at::Tensor& x, c10::Device device);

// The same, on the device of `other`.
[[nodiscard]] at::Tensor on_device_of(const at::Tensor& other, const at::Tensor& x);

}  // namespace bp::trainer

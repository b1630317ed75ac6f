// Moves what the host computed to the device that computes with it.
#pragma once

#include <ATen/core/Tensor.h>

#include <c10/core/Device.h>

namespace bp::trainer {

// Returns `host` on a device: itself if it lies there already, else a copy, for which the host does
// not wait. It may release `host` at once.
[[nodiscard]] at::Tensor to_device(const at::Tensor& host, c10::Device device);

// The same, on the device of `other`.
[[nodiscard]] at::Tensor on_device_of(const at::Tensor& other, const at::Tensor& host);

}  // namespace bp::trainer

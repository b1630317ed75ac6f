#include "trainer/model/device_of.h"

namespace bp::trainer {

at::Tensor to_device(const at::Tensor& host, c10::Device device) {
  if (host.device() == device) return host;
  // Only a copy from pinned memory runs beside the host. LibTorch keeps that memory until the copy
  // is complete.
  const at::Tensor from = host.is_cpu() ? host.pin_memory() : host;
  return from.to(host.options().device(device), /*non_blocking=*/true);
}

at::Tensor on_device_of(const at::Tensor& other, const at::Tensor& host) {
  return to_device(host, other.device());
}

}  // namespace bp::trainer

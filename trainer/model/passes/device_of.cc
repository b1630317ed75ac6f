#include "trainer/model/passes/device_of.h"

namespace bp::trainer {

at::Tensor to_device(const at::Tensor& x, c10::Device device) {
  if (x.device() == device) return x;
  // Only a copy from pinned memory runs beside the host. LibTorch keeps that memory until the copy
  // is complete.
  if (x.is_cpu()) return x.pin_memory().to(x.options().device(device), /*non_blocking=*/true);
  return x.to(x.options().device(device));
}

at::Tensor on_device_of(const at::Tensor& other, const at::Tensor& x) {
  return to_device(x, other.device());
}

}  // namespace bp::trainer

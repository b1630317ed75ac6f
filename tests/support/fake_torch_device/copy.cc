// Copies of tensors on the fake device, from it and to it.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

#include "tests/support/fake_torch_device/key.h"
#include "tests/support/fake_torch_device/memory.h"
#include "tests/support/fake_torch_device/on_host.h"
#include "tests/support/fake_torch_device/streams.h"
#include "tests/support/fake_torch_device/turn.h"

namespace fake_torch_device {
namespace {

bool is_same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.strides() == b.strides();
}

// Keeps pinned memory until a copy that the stream has now is done, as LibTorch does for CUDA.
void keep(const at::Tensor& pinned, const c10::Stream& stream) {
  if (!is_pinned(pinned.const_data_ptr())) return;
  static_cast<void>(launch(stream, "the end of a copy", {}, [pinned](void* const*) {}));
}

at::Tensor dense_like(const at::Tensor& x, c10::Device device) {
  return at::empty_strided(x.sizes(), x.strides(), x.options().device(device));
}

// One device: a kernel.
void copy_on_device(const at::Tensor& from, const at::Tensor& to) {
  OnHost tensors;
  tensors.add(from, false);
  tensors.add(to, true);
  tensors.begin("aten::copy_");
  const at::AutoDispatchBelowADInplaceOrView guard;
  at::Tensor target = tensors.on_host(to);
  target.copy_(tensors.on_host(from));
}

void copy_to_device(const at::Tensor& from, const at::Tensor& to, bool is_asynchronous) {
  const c10::Stream stream = current_stream(to.device());
  if (!to.is_non_overlapping_and_dense()) {
    const at::Tensor dense = at::empty(to.sizes(), to.options());
    copy_to_device(from, dense, is_asynchronous);
    copy_on_device(dense, to);
    return;
  }
  at::Tensor source = from;
  if (!is_same_layout(from, to)) {
    source = dense_like(to, c10::kCPU);
    source.copy_(from);
  }
  copy(to.mutable_data_ptr(), source.const_data_ptr(), to.nbytes(), stream);
  is_asynchronous ? keep(source, stream) : finish(stream);
}

void copy_to_host(const at::Tensor& from, const at::Tensor& to, bool is_asynchronous) {
  const c10::Stream stream = current_stream(from.device());
  if (!from.is_non_overlapping_and_dense())
    return copy_to_host(from.contiguous(), to, is_asynchronous);
  if (is_same_layout(from, to)) {
    copy(to.mutable_data_ptr(), from.const_data_ptr(), from.nbytes(), stream);
    is_asynchronous ? keep(to, stream) : finish(stream);
    return;
  }
  const at::Tensor dense = dense_like(from, c10::kCPU);
  copy(dense.mutable_data_ptr(), from.const_data_ptr(), from.nbytes(), stream);
  finish(stream);
  to.copy_(dense);
}

void copy_between_devices(const at::Tensor& from, const at::Tensor& to) {
  if (!to.is_non_overlapping_and_dense() || !is_same_layout(from, to)) {
    at::Tensor arranged = at::empty_like(to, to.options().device(from.device()));
    arranged = arranged.is_non_overlapping_and_dense() ? arranged : arranged.contiguous();
    copy_on_device(from, arranged);
    const at::Tensor arrived = dense_like(arranged, to.device());
    copy_between_devices(arranged, arrived);
    copy_on_device(arrived, to);
    return;
  }
  const c10::Stream source = current_stream(from.device());
  const c10::Stream target = current_stream(to.device());
  make_wait(source, target);
  copy(to.mutable_data_ptr(), from.const_data_ptr(), to.nbytes(), source);
  make_wait(target, source);
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& to, bool is_asynchronous) {
  if (to.numel() == 0) return to;
  const at::AutoDispatchBelowADInplaceOrView guard;
  const at::Tensor from = self.expand_as(to);
  if (!is_on_device(from)) {
    copy_to_device(from, to, is_asynchronous);
  } else if (!is_on_device(to)) {
    copy_to_host(from, to, is_asynchronous);
  } else if (from.device() == to.device()) {
    copy_on_device(from, to);
  } else {
    copy_between_devices(from, to);
  }
  return to;
}

at::Tensor& copy_in_place(at::Tensor& to, const at::Tensor& from, bool is_asynchronous) {
  static_cast<void>(copy_from(from, to, is_asynchronous));
  return to;
}

at::Tensor copy_from_and_resize(const at::Tensor& from, const at::Tensor& to) {
  to.resize_(from.sizes());
  return copy_from(from, to, false);
}

at::Scalar scalar_of(const at::Tensor& x) { return x.cpu().item(); }

TORCH_LIBRARY_IMPL(aten, FAKE_TORCH_KEY, library) {
  library.impl("copy_", copy_in_place);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", scalar_of);
}

}  // namespace
}  // namespace fake_torch_device

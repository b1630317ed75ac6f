#include "tests/support/fake_torch_device/on_host.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty_strided.h>

#include <cstring>
#include <map>
#include <utility>

#include <c10/core/DeviceGuard.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>
#include <c10/util/Exception.h>

#include "tests/support/fake_torch_device/streams.h"

namespace fake_torch_device {
namespace {

c10::Storage storage_on_host(char* begin, std::size_t bytes) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes,
                      c10::DataPtr(begin, c10::Device(c10::DeviceType::CPU)), nullptr, false);
}

at::Tensor tensor_on_host(const at::Tensor& like, c10::Storage storage) {
  at::Tensor host = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), like.dtype());
  c10::TensorImpl& impl = *host.unsafeGetTensorImpl();
  impl.set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl.set_wrapped_number(true);
  return host;
}

at::Tensor empty_like_on_host(const at::Tensor& x) {
  return at::empty_strided(x.sizes(), x.strides(), x.options().device(c10::kCPU));
}

}  // namespace

std::size_t extent(const at::Tensor& x) {
  return at::detail::computeStorageNbytes(x.sizes(), x.strides(), x.itemsize());
}

void OnHost::add(const at::Tensor& x, bool writes) {
  if (device_.has_value() && *device_ != x.device()) {
    TORCH_CHECK(false,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                *device_, " and ", x.device(), "!");
  }
  device_ = x.device();
  for (Pair& pair : pairs_) {
    if (!pair.original.is_same(x)) continue;
    pair.writes |= writes;
    return;
  }
  pairs_.push_back({x, writes});
}

void OnHost::begin(const std::string& name) {
  if (pairs_.empty()) return;
  std::vector<FakeCudaRange> ranges;
  for (const Pair& pair : pairs_) {
    const std::size_t bytes = extent(pair.original);
    const void* const memory = bytes == 0 ? nullptr : pair.original.const_data_ptr();
    ranges.push_back({memory, bytes, pair.writes});
  }
  turn_.emplace(current_stream(*device_), name, ranges);
  std::map<const c10::StorageImpl*, c10::Storage> storages;  // views share memory on the host too
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    Pair& pair = pairs_[i];
    const at::Tensor& x = pair.original;
    if (ranges[i].bytes == 0) {
      pair.host = empty_like_on_host(x);
      continue;
    }
    c10::Storage& storage = storages[x.storage().unsafeGetStorageImpl()];
    if (!storage) {
      const auto offset = static_cast<std::size_t>(x.storage_offset()) * x.itemsize();
      storage = storage_on_host(turn_->reachable(i) - offset, x.storage().nbytes());
    }
    pair.host = tensor_on_host(x, storage);
  }
}

at::Tensor OnHost::on_host(const at::Tensor& x) const {
  for (const Pair& pair : pairs_) {
    if (pair.original.is_same(x)) return pair.host;
  }
  TORCH_INTERNAL_ASSERT(false, "no such argument");
}

at::Tensor OnHost::original(const at::Tensor& host) const {
  for (const Pair& pair : pairs_) {
    if (pair.host.is_same(host)) return pair.original;
  }
  return {};
}

bool OnHost::is_view(const at::Tensor& host) const {
  if (!host.has_storage()) return false;
  for (const Pair& pair : pairs_) {
    if (pair.host.numel() > 0 && pair.host.is_alias_of(host)) return true;
  }
  return false;
}

void OnHost::end() {
  turn_.reset();
  for (const Pair& pair : pairs_) {
    if (!pair.writes) continue;
    const at::Tensor& x = pair.original;
    const at::Tensor& host = pair.host;
    if (x.sizes() == host.sizes() && x.strides() == host.strides()) continue;
    if (x.numel() == 0 && host.numel() > 0) {
      x.unsafeGetTensorImpl()->set_storage_keep_dtype(to_device(host, x.device()).storage());
    }
    x.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(),
                                                   host.storage_offset());
  }
}

at::Tensor to_device(const at::Tensor& host, c10::Device device) {
  const c10::DeviceGuard guard(device);
  at::Tensor made = at::empty_strided(host.sizes(), host.strides(), host.options().device(device));
  const std::size_t bytes = extent(host);
  if (bytes == 0) return made;
  const auto write = [host, bytes](void* const* reachable) {
    std::memcpy(reachable[0], host.const_data_ptr(), bytes);
  };
  TORCH_CHECK(launch(current_stream(device), "the result of an operator",
                     {{made.const_data_ptr(), bytes, true}}, write),
              "the current stream does not exist");
  return made;
}

}  // namespace fake_torch_device

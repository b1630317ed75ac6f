// Operators of tensors on the fake device that no kernel of the host can do: to allocate memory and
// to make views of it.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include <cstdint>
#include <optional>
#include <utility>

#include <c10/core/DefaultDtype.h>
#include <c10/core/DeviceGuard.h>

#include "tests/support/fake_torch_device/memory.h"
#include "tests/support/fake_torch_device/streams.h"

namespace fake_torch_device {
namespace {

constexpr c10::DispatchKeySet kKeys(kKey);

at::ScalarType type_or_default(std::optional<at::ScalarType> type) {
  return type.value_or(c10::get_default_dtype_as_scalartype());
}

at::Tensor empty(at::IntArrayRef sizes,
                 std::optional<at::ScalarType> type,
                 std::optional<at::Layout>,
                 std::optional<at::Device> device,
                 std::optional<bool> pin_memory,
                 std::optional<at::MemoryFormat> format) {
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  const c10::DeviceGuard guard(with_index(device.value_or(kType)));
  return at::detail::empty_generic(sizes, device_allocator(), kKeys, type_or_default(type), format);
}

at::Tensor empty_with_strides(at::IntArrayRef sizes,
                              at::IntArrayRef strides,
                              std::optional<at::ScalarType> type,
                              std::optional<at::Layout>,
                              std::optional<at::Device> device,
                              std::optional<bool> pin_memory) {
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
  const c10::DeviceGuard guard(with_index(device.value_or(kType)));
  return at::detail::empty_strided_generic(sizes, strides, device_allocator(), kKeys,
                                           type_or_default(type));
}

// Grows the storage to what sizes and strides need.
void make_room(const at::Tensor& x) {
  if (x.numel() == 0) return;
  const std::size_t bytes = at::detail::computeStorageNbytes(
      x.sizes(), x.strides(), x.itemsize(), static_cast<std::size_t>(x.storage_offset()));
  if (x.storage().nbytes() < bytes) resize(*x.storage().unsafeGetStorageImpl(), bytes);
}

const at::Tensor& resize_tensor(const at::Tensor& x,
                                at::IntArrayRef sizes,
                                std::optional<at::MemoryFormat> format) {
  if (x.sizes() != sizes) {
    x.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
    make_room(x);
  }
  if (format.has_value()) x.unsafeGetTensorImpl()->empty_tensor_restride(*format);
  return x;
}

at::Tensor& set_storage_and_sizes(at::Tensor& x,
                                  at::Storage storage,
                                  std::int64_t offset,
                                  at::IntArrayRef sizes,
                                  at::IntArrayRef strides) {
  at::native::checkSetStorage(x, std::move(storage), offset, sizes, strides);
  c10::TensorImpl& impl = *x.unsafeGetTensorImpl();
  impl.set_storage_offset(offset);
  if (strides.data() != nullptr) {
    impl.set_sizes_and_strides(sizes, strides);
  } else {
    impl.set_sizes_contiguous(sizes);
  }
  make_room(x);
  return x;
}

at::Tensor& set_storage(at::Tensor& x, at::Storage storage) {
  const auto count = static_cast<std::int64_t>(storage.nbytes() / x.itemsize());
  return set_storage_and_sizes(x, std::move(storage), 0, count, {});
}

at::Tensor& set_to_tensor(at::Tensor& x, const at::Tensor& source) {
  if (x.is_same(source)) return x;
  return set_storage_and_sizes(x, source.storage(), source.storage_offset(), source.sizes(),
                               source.strides());
}

at::Tensor& set_to_nothing(at::Tensor& x) {
  return set_to_tensor(x, at::empty_strided({0}, {1}, x.options()));
}

void record_stream(at::Tensor& x, at::Stream stream) { use_on(x.storage().data_ptr(), stream); }

TORCH_LIBRARY_IMPL(aten, FAKE_TORCH_KEY, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_with_strides);
  library.impl("as_strided", at::native::as_strided_tensorimpl);
  library.impl("view", at::native::view);
  library.impl("_reshape_alias", at::native::_reshape_alias);
  library.impl("unfold", at::native::unfold);
  library.impl("resize_", resize_tensor);
  library.impl("set_", set_to_nothing);
  library.impl("set_.source_Tensor", set_to_tensor);
  library.impl("set_.source_Storage", set_storage);
  library.impl("set_.source_Storage_storage_offset", set_storage_and_sizes);
  library.impl("record_stream", record_stream);
}

}  // namespace
}  // namespace fake_torch_device

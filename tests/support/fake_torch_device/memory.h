// The memory of tensors on the fake device, which the host cannot touch.
//
// Threads: any.
#pragma once

#include <cstddef>

#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/Stream.h>

namespace fake_torch_device {

// Allocates on the current device. As with LibTorch's allocator for CUDA, memory belongs to the
// stream that was the current one, and other work of that stream may use it as soon as it is freed.
// So work of another stream that may still run then, and is not known by use_on(), is a race.
[[nodiscard]] c10::Allocator* device_allocator();
// Tells that work of the stream uses the memory. Does nothing for memory of another allocator.
void use_on(const c10::DataPtr& memory, const c10::Stream& stream);
// Grows the storage and keeps what it holds.
void resize(c10::StorageImpl& storage, std::size_t bytes);

[[nodiscard]] c10::Allocator* pinned_allocator();
[[nodiscard]] bool is_pinned(const void* memory);

}  // namespace fake_torch_device

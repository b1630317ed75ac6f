// LibTorch's tensors and types as those of bp.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "bp/collective.h"
#include "bp/device.h"
#include "bp/types.h"

namespace bp {

// Returns LibTorch's current stream, on which the calling thread's tensor operations on the device
// run in order, for CollectiveOptions::stream; null for the CPU and for a device's default stream.
// Autograd's threads have the stream of the forward pass.
[[nodiscard]] void* current_stream(c10::Device device);

// Blocks until the work that the current stream has now is complete. Does nothing for the CPU.
void finish_current_stream(c10::Device device);

// Returns nothing if bp has no such type.
[[nodiscard]] std::optional<DataType> data_type_of(c10::ScalarType type);
[[nodiscard]] c10::ScalarType scalar_type_of(DataType type);

// Returns the host for the CPU. Any other device of LibTorch is one of CUDA's with the same index:
// LibTorch and bp call the same runtime library.
[[nodiscard]] Device device_of(c10::Device device);

// Returns a view of all elements of a dense tensor in the order in which they lie in memory.
// `tensor` must be of a type that bp has.
[[nodiscard]] ConstView elements_of(const at::Tensor& tensor);

// Returns the bytes of the last element in memory, which tells at little cost that a tensor has
// changed. None of a tensor without elements or with gaps, of a sparse one, and of one on a device,
// which could not be read without waiting for it.
[[nodiscard]] std::string_view last_element_of(const at::Tensor& tensor);

// Returns the options of a collective on this tensor: without a stream, they get LibTorch's current
// one of the tensor's device.
[[nodiscard]] CollectiveOptions after_work_on(const at::Tensor& tensor, CollectiveOptions options);

}  // namespace bp

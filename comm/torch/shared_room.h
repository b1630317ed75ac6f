// Memory that all ranks of a communicator share, from which tensors get their elements one after
// another.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <malloc.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <c10/core/Device.h>

#include "bp/communicator.h"
#include "bp/topology.h"

namespace bp {

// Returns where the ranks are, but a rank that does not share the memory of tensors on this device
// with others counts as a host of its own.
inline Topology memory_topology(const Communicator& world, c10::Device device) {
  if (device.is_cpu() && world.backend().ends_with("shm")) return world.topology();
  const std::vector<int> ones(static_cast<std::size_t>(world.size()), 1);
  return {.rank = world.rank(), .local_sizes = ones, .host_names = {}};
}

// Returns the elements of a dense tensor in the order of memory, as a tensor with a version of its
// own.
inline at::Tensor flat(const at::Tensor& tensor) {
  return tensor.variable_data().as_strided({tensor.numel()}, {1});
}
// Returns the elements with the form of `like`.
inline at::Tensor formed_as(const at::Tensor& like, const at::Tensor& elements) {
  return elements.as_strided(like.sizes(), like.strides());
}

// The private tensors that shared ones replace are together as large as the model, and malloc may
// keep the memory of each for the process.
inline void give_back_freed(const at::Tensor& like) {
  constexpr std::size_t kLarge = std::size_t{1} << 20;
  if (like.nbytes() >= kLarge) ::malloc_trim(0);
}

class SharedRoom {
 public:
  // Collective.
  SharedRoom(Communicator& comm, std::size_t bytes)
      : memory_(std::make_shared<Buffer>(comm.allocate_shared(bytes))) {}

  static std::size_t of(const at::Tensor& like, std::int64_t count) {
    const std::size_t bytes = static_cast<std::size_t>(count) * like.element_size();
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_->data(), memory_->bytes()}; }
  at::Tensor take(const at::Tensor& like, std::int64_t count) {
    std::byte* const data = memory_->data() + used_;
    used_ += of(like, count);
    return at::from_blob(
        data, {count}, [memory = memory_](void*) {}, at::dtype(like.scalar_type()));
  }
  // Moves a dense tensor's elements here, with their values if `copies`, and returns them.
  at::Tensor adopt(const at::Tensor& tensor, bool copies) {
    const at::NoGradGuard no_grad;
    at::Tensor elements = take(tensor, tensor.numel());
    if (copies) elements.copy_(flat(tensor));
    tensor.set_data(formed_as(tensor, elements));
    give_back_freed(elements);  // before the next copy
    return elements;
  }

 private:
  static constexpr std::size_t kAlignment = 64;  // bytes; that of LibTorch's own allocator

  std::shared_ptr<Buffer> memory_;
  std::size_t used_ = 0;
};

}  // namespace bp

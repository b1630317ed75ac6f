// Memory that all ranks of a communicator share, from which tensors get their elements one after
// another.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bp/communicator.h"

namespace bp {

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

 private:
  static constexpr std::size_t kAlignment = 64;  // bytes; that of LibTorch's own allocator

  std::shared_ptr<Buffer> memory_;
  std::size_t used_ = 0;
};

}  // namespace bp

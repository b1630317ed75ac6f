#include "comm/backend/nccl_buffers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "comm/device/cuda_runtime.h"
#include "comm/device/current_cuda_device.h"

namespace bp {

std::shared_ptr<std::byte> NcclBuffers::allocate(std::size_t bytes, int device) {
  const NcclApi& nccl = nccl_api();
  if (nccl.allocate == nullptr) return nullptr;
  const CurrentCudaDevice current(cuda_runtime(), device);
  void* memory = nullptr;
  bytes = std::max(bytes, std::size_t{1});
  if (nccl.allocate(&memory, bytes) != NcclApi::kSuccess) return nullptr;
  const std::lock_guard lock(mutex_);
  buffers_[static_cast<std::byte*>(memory)] = {.bytes = bytes, .device = device};
  return {static_cast<std::byte*>(memory),
          [owner = shared_from_this()](std::byte* ended) { owner->end(ended); }};
}

void NcclBuffers::free(std::byte* memory, int device) const {
  const CurrentCudaDevice current(cuda_runtime(), device);
  static_cast<void>(nccl_api().free(memory));
}

void NcclBuffers::end(std::byte* memory) {
  const std::lock_guard lock(mutex_);
  const auto found = buffers_.find(memory);
  if (found->second.handle != nullptr) {
    found->second.has_ended = true;
    return;
  }
  free(memory, found->second.device);
  buffers_.erase(found);
}

NcclApi::Code NcclBuffers::update(NcclApi::Communicator ranks, int device, bool none_runs) {
  const NcclApi& nccl = nccl_api();
  const std::lock_guard lock(mutex_);
  NcclApi::Code first = NcclApi::kSuccess;
  const auto keep_first = [&](NcclApi::Code code) {
    if (first == NcclApi::kSuccess) first = code;
  };
  for (auto at = buffers_.begin(); at != buffers_.end();) {
    auto& [memory, buffer] = *at;
    if (buffer.handle == nullptr && buffer.device == device) {
      keep_first(nccl.add_buffer(ranks, memory, buffer.bytes, &buffer.handle));
    }
    if (!buffer.has_ended || !none_runs) {
      ++at;
      continue;
    }
    keep_first(nccl.remove_buffer(ranks, buffer.handle));
    free(memory, buffer.device);
    at = buffers_.erase(at);
  }
  return first;
}

void NcclBuffers::release(NcclApi::Communicator ranks) {
  {
    const std::lock_guard lock(mutex_);
    for (auto& [memory, buffer] : buffers_) {
      if (buffer.handle == nullptr) continue;
      static_cast<void>(nccl_api().remove_buffer(ranks, std::exchange(buffer.handle, nullptr)));
    }
  }
  forget();
}

void NcclBuffers::forget() {
  const std::lock_guard lock(mutex_);
  for (auto at = buffers_.begin(); at != buffers_.end();) {
    auto& [memory, buffer] = *at;
    buffer.handle = nullptr;
    if (buffer.has_ended) free(memory, buffer.device);
    at = buffer.has_ended ? buffers_.erase(at) : std::next(at);
  }
}

}  // namespace bp

#include "tests/support/fake_torch_device/memory.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include "comm/device/cuda_runtime.h"
#include "tests/support/fake_torch_device/streams.h"
#include "tests/support/fake_torch_device/turn.h"

namespace fake_torch_device {
namespace {

using bp::cuda_runtime;

struct Block {
  void* memory;
  std::size_t bytes;
  c10::Stream stream;  // to which it belongs
  std::mutex mutex = {};
  std::vector<c10::Stream> users = {};
};

// A stream that has ended has no work for which another one must wait.
void try_to_wait(const c10::Stream& stream, const c10::Stream& other) noexcept try {
  make_wait(stream, other);
} catch (const c10::Error&) {
}

// Adds work to the block's stream that writes all of it and then frees it. Memory of a stream that
// has ended is freed at once.
void free_block(void* context) {
  const std::unique_ptr<Block> block(static_cast<Block*>(context));
  for (const c10::Stream& user : block->users) try_to_wait(block->stream, user);
  void* const memory = block->memory;
  const auto free = [memory](void* const*) { static_cast<void>(cuda_runtime().free(memory)); };
  if (!launch(block->stream, "the end of a tensor", {{memory, block->bytes, true}}, free)) {
    free(nullptr);
  }
}

class DeviceAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device device = current_device();
    if (bytes == 0) return {nullptr, device};
    void* memory = nullptr;
    check(cuda_runtime().allocate(&memory, bytes), "allocate memory");
    return {memory, new Block{memory, bytes, current_stream(device)}, free_block, device};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    copy(to, from, bytes, current_stream(current_device()));
  }
};

// The blocks that pinned_allocator() has allocated.
struct Pinned {
  std::mutex mutex;
  std::map<const void*, std::size_t, std::less<>> blocks;
};

Pinned& pinned() {
  static Pinned& only = *new Pinned;
  return only;
}

void free_pinned(void* memory) {
  {
    const std::lock_guard lock(pinned().mutex);
    pinned().blocks.erase(memory);
  }
  static_cast<void>(cuda_runtime().free_on_host(memory));
}

class PinnedAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, c10::DeviceType::CPU};
    void* memory = nullptr;
    check(cuda_runtime().allocate_on_host(&memory, bytes, 0), "allocate pinned memory");
    const std::lock_guard lock(pinned().mutex);
    pinned().blocks[memory] = bytes;
    return {memory, memory, free_pinned, c10::DeviceType::CPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_pinned; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

c10::Allocator* device_allocator() {
  static DeviceAllocator& only = *new DeviceAllocator;
  return &only;
}

void use_on(const c10::DataPtr& memory, const c10::Stream& stream) {
  if (memory.get_deleter() != free_block) return;
  Block& block = *static_cast<Block*>(memory.get_context());
  if (stream == block.stream) return;
  const std::lock_guard lock(block.mutex);
  if (std::find(block.users.begin(), block.users.end(), stream) == block.users.end()) {
    block.users.push_back(stream);
  }
}

void resize(c10::StorageImpl& storage, std::size_t bytes) {
  TORCH_CHECK(storage.resizable(), "Trying to resize storage that is not resizable");
  const c10::DeviceGuard guard(storage.device());
  c10::DataPtr grown = device_allocator()->allocate(bytes);
  const std::size_t kept = std::min(storage.nbytes(), bytes);
  if (kept > 0) device_allocator()->copy_data(grown.mutable_get(), storage.data(), kept);
  storage.set_data_ptr_noswap(std::move(grown));
  storage.set_nbytes(bytes);
}

c10::Allocator* pinned_allocator() {
  static PinnedAllocator& only = *new PinnedAllocator;
  return &only;
}

bool is_pinned(const void* memory) {
  const std::lock_guard lock(pinned().mutex);
  const auto after = pinned().blocks.upper_bound(memory);
  if (after == pinned().blocks.begin()) return false;
  const auto& [begin, bytes] = *std::prev(after);
  return static_cast<const char*>(memory) < static_cast<const char*>(begin) + bytes;
}

}  // namespace fake_torch_device

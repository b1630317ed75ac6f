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

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>

#include "comm/device/cuda_runtime.h"
#include "tests/support/fake_cuda/visible.h"
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

// Counts the memory that tensors hold on each device. The fake does not keep freed memory, so it
// reserves no more than that.
class Statistics {
 public:
  void allocated(c10::DeviceIndex device, std::size_t bytes) {
    add(device, static_cast<std::int64_t>(bytes));
  }
  void freed(c10::DeviceIndex device, std::size_t bytes) {
    add(device, -static_cast<std::int64_t>(bytes));
  }
  void refused(c10::DeviceIndex device) {
    const std::lock_guard lock(mutex_);
    ++devices_[device].num_alloc_retries;
  }
  c10::CachingDeviceAllocator::DeviceStats of(c10::DeviceIndex device) {
    const std::lock_guard lock(mutex_);
    return devices_[device];
  }
  void reset_peak(c10::DeviceIndex device) {
    const std::lock_guard lock(mutex_);
    devices_[device].allocated_bytes[kAll].reset_peak();
    devices_[device].reserved_bytes[kAll].reset_peak();
  }

 private:
  static constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);

  void add(c10::DeviceIndex device, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    for (auto* const stat :
         {&devices_[device].allocated_bytes[kAll], &devices_[device].reserved_bytes[kAll]}) {
      stat->current += bytes;
      stat->peak = std::max(stat->peak, stat->current);
    }
  }

  std::mutex mutex_;
  std::map<c10::DeviceIndex, c10::CachingDeviceAllocator::DeviceStats> devices_;
};

Statistics& statistics() {
  static Statistics& only = *new Statistics;
  return only;
}

// Adds work to the block's stream that writes all of it and then frees it. Memory of a stream that
// has ended is freed at once.
void free_block(void* context) {
  const std::unique_ptr<Block> block(static_cast<Block*>(context));
  for (const c10::Stream& user : block->users) try_to_wait(block->stream, user);
  statistics().freed(block->stream.device_index(), block->bytes);
  void* const memory = block->memory;
  const auto free = [memory](void* const*) { static_cast<void>(cuda_runtime().free(memory)); };
  if (!launch(block->stream, "the end of a tensor", {{memory, block->bytes, true}}, free)) {
    free(nullptr);
  }
}

class DeviceAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device device = current_device();
    if (bytes == 0) return {nullptr, device};
    void* memory = nullptr;
    bp::CudaRuntime::Code code = cuda_runtime().allocate(&memory, bytes);
    if (code == bp::CudaRuntime::kOutOfMemory) {
      statistics().refused(device.index());
      finish(device);  // what tensors that have ended held is free then
      code = cuda_runtime().allocate(&memory, bytes);
    }
    TORCH_CHECK_WITH(OutOfMemoryError, code != bp::CudaRuntime::kOutOfMemory,
                     "CUDA out of memory. Tried to allocate ", bytes, " bytes");
    check(code, "allocate memory");
    statistics().allocated(device.index(), bytes);
    return {memory, new Block{memory, bytes, current_stream(device)}, free_block, device};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    copy(to, from, bytes, current_stream(current_device()));
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t /*pool*/) override {}
  void recordStream(const c10::DataPtr& memory, c10::Stream stream) override {
    use_on(memory, stream);
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    return statistics().of(device);
  }
  void resetAccumulatedStats(c10::DeviceIndex /*device*/) override {}
  void resetPeakStats(c10::DeviceIndex device) override { statistics().reset_peak(device); }
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override {
    const std::size_t total = fake_cuda::memory_of_devices();
    const auto used = statistics().of(device).reserved_bytes[0].current;
    return {total - static_cast<std::size_t>(used), total};
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

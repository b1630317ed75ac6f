// This rank's part in a communicator of NCCL, and the stream of its operations.
//
// It never blocks without an end: NCCL is asked to return at once and is then asked again until the
// caller's deadline. After an error of any kind the communicator is aborted, so that no kernel of
// it runs on, and cannot be used again.
//
// Threads: one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/deadline.h"
#include "comm/backend/common/operation.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/device_memory.h"
#include "comm/device/nccl_api.h"

namespace bp {

// Device memory that NCCL allocates and that is registered with one communicator of NCCL.
// Operations read and write such memory in place where the hardware supports that. The communicator
// must deregister a buffer before it is freed.
//
// Threads: any thread may call allocate() and release a buffer. Only the thread that uses the
// communicator may call the other functions.
class NcclBuffers : public std::enable_shared_from_this<NcclBuffers> {
 public:
  // Returns memory of the CUDA device with this index, aligned to 64 bytes and of undefined
  // content; null if NCCL cannot allocate it.
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes, int device);
  // Registers the buffers that were allocated on the device since the last call. If no operation
  // runs, also deregisters and frees those that their owners have released. Returns NCCL's first
  // error.
  [[nodiscard]] NcclApi::Code update(NcclApi::Communicator ranks, int device, bool none_runs);
  // Deregisters all buffers, because the communicator is about to be finalized.
  void release(NcclApi::Communicator ranks);
  // Forgets all registrations, because the communicator was aborted.
  void forget();

 private:
  struct Buffer {
    std::size_t bytes = 0;
    int device = 0;
    void* handle = nullptr;  // null: not registered
    bool has_ended = false;  // it is freed once it is deregistered
  };
  void end(std::byte* memory);
  void free(std::byte* memory, int device) const;

  std::mutex mutex_;
  std::map<std::byte*, Buffer> buffers_;  // guarded by mutex_
};

class NcclRanks {
 public:
  // Begins to connect the ranks, which wait_until_begun() completes. `device` is the index of this
  // rank's CUDA device. Throws DeviceFailure, as all functions do.
  NcclRanks(const NcclApi::UniqueId& id,
            int ranks,
            int rank,
            int device,
            std::shared_ptr<NcclBuffers> buffers);
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  [[nodiscard]] int device() const { return device_; }
  // Returns the device's memory on the stream of the operations: its calls and the operations are
  // carried out in the order in which they are made.
  [[nodiscard]] const Memory& memory() const { return *memory_; }
  // Makes operations that begin later run after `before`; does nothing if it is null.
  void begin_after(const DeviceEvent* before);
  // Begins an operation for which can_carry_out() is true, behind those begun before. Applies
  // operation.prescale, which must be 1 unless prescales() is true.
  void begin(const Operation& operation);
  // wait_until_begun() blocks until the ranks are connected, or the operation is on the device.
  // wait() blocks until the device has completed everything before the last mark_end(). Both return
  // false at the deadline or once `stop` is set, and throw TransportFailure if another rank is
  // lost.
  [[nodiscard]] bool wait_until_begun(const Deadline& deadline, const std::atomic<bool>& stop);
  [[nodiscard]] bool wait(const Deadline& deadline, const std::atomic<bool>& stop);
  // Returns an event that follows all operations begun so far; wait() waits for it.
  // watched_end() returns the same event with a reached() that also throws NCCL's errors, as wait()
  // does.
  [[nodiscard]] std::shared_ptr<const DeviceEvent> mark_end();
  [[nodiscard]] std::shared_ptr<const DeviceEvent> watched_end() const;
  // Ends all operations that have begun.
  void abort();

  // Returns whether NCCL has such an operation on such elements, with bp's meaning.
  [[nodiscard]] static bool can_carry_out(const Operation& operation);
  // Returns whether NCCL computes the average as bp does: it multiplies each element by 1 / ranks
  // before it adds them, which is the same only where no product is rounded.
  [[nodiscard]] static bool has_exact_average(const Operation& operation, int ranks);
  // Returns whether NCCL multiplies by operation.prescale as bp does. All ranks get one answer.
  [[nodiscard]] static bool prescales(const Operation& operation, int ranks);

 private:
  void require(NcclApi::Code code, const char* call) const;
  // Returns whether the call before is done with its part on the host.
  [[nodiscard]] bool is_begun() const;
  [[nodiscard]] NcclApi::Code enqueue(const Operation& operation, NcclApi::Reduction how) const;
  // Returns a reduction that multiplies elements by the operation's factors and adds them.
  [[nodiscard]] NcclApi::Reduction create_scaled_sum(const Operation& operation);
  void close();

  const NcclApi& nccl_;
  const CudaRuntime& cuda_;
  const int device_;
  const int size_;
  CudaRuntime::Stream stream_ = nullptr;
  std::unique_ptr<const Memory> memory_;
  NcclApi::Communicator ranks_ = nullptr;
  const std::shared_ptr<NcclBuffers> buffers_;
  std::shared_ptr<const DeviceEvent> last_end_;   // of the last mark_end(); null: none
  std::shared_ptr<const DeviceEvent> done_;       // what wait() waits for; null: nothing
  std::optional<NcclApi::Reduction> scaled_sum_;  // of the call that has not begun yet
  bool is_starting_ = true;
};

}  // namespace bp

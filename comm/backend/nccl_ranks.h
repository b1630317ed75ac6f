// This rank's part in a communicator of NCCL, and the stream of its operations.
//
// It never blocks without an end: NCCL is asked to return at once and is then asked again until the
// caller's deadline. After an error of any kind the communicator is aborted, so that no kernel of
// it runs on, and cannot be used again.
//
// Threads: one at a time.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/deadline.h"
#include "comm/backend/nccl_buffers.h"
#include "comm/backend/operation.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/device.h"
#include "comm/device/nccl_api.h"

namespace bp {

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
  // The device's memory, whose calls are ordered with the operations as they are made.
  [[nodiscard]] const Memory& memory() const { return *memory_; }
  // Lets what is begun from now on come after `before`; null: after nothing else.
  void hold_for(const Moment* before);
  // Begins an operation that can_carry_out(), after what was begun before. It applies
  // operation.prescale, which must be 1 or one that prescales().
  void begin(const Operation& operation);
  // Both return false at the deadline, or once `stop` is set. They throw TransportFailure if
  // another rank is lost. wait_until_begun() returns once the ranks are connected, or the operation
  // is on the device, and wait() once all before the marked end is done there.
  [[nodiscard]] bool wait_until_begun(const Deadline& deadline, const std::atomic<bool>& stop);
  [[nodiscard]] bool wait(const Deadline& deadline, const std::atomic<bool>& stop);
  // Marks the end of all that is begun so far, for which wait() waits. On the device, and as seen
  // by a caller who must also know of errors of NCCL: its reached() throws as wait() does.
  [[nodiscard]] std::shared_ptr<const Moment> mark_end();
  [[nodiscard]] std::shared_ptr<const Moment> watched_end() const;
  // Ends all that is begun.
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
  // Returns a sum of elements that are multiplied by the operation's factors.
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
  std::shared_ptr<const Moment> last_end_;        // that was marked; null: none
  std::shared_ptr<const Moment> done_;            // what wait() waits for; null: nothing
  std::optional<NcclApi::Reduction> scaled_sum_;  // of the call that has not begun yet
  bool is_starting_ = true;
};

}  // namespace bp

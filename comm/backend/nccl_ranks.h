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

#include "base/deadline.h"
#include "comm/backend/operation.h"
#include "comm/device/cuda_runtime.h"
#include "comm/device/nccl_api.h"

namespace bp {

class NcclRanks {
 public:
  // Begins to connect the ranks, which wait_until_begun() completes. `device` is the index of this
  // rank's CUDA device. Throws DeviceFailure, as all functions do.
  NcclRanks(const NcclApi::UniqueId& id, int ranks, int rank, int device);
  ~NcclRanks();
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  [[nodiscard]] int device() const { return device_; }
  // Begins an operation that can_carry_out(), after what its stream had before.
  void begin(const Operation& operation);
  // Both return false at the deadline, or once `stop` is set. They throw TransportFailure if
  // another rank is lost. wait_until_begun() returns once the ranks are connected, or the operation
  // is on the device, and wait() once the operation is done there.
  [[nodiscard]] bool wait_until_begun(const Deadline& deadline, const std::atomic<bool>& stop);
  [[nodiscard]] bool wait(const Deadline& deadline, const std::atomic<bool>& stop);
  // The end of the operation that wait_until_begun() found on the device.
  [[nodiscard]] std::shared_ptr<const Moment> end() const { return done_; }
  // Ends all that is begun.
  void abort();

  // Returns whether NCCL has such an operation on such elements, with bp's meaning.
  [[nodiscard]] static bool can_carry_out(const Operation& operation);

 private:
  void require(NcclApi::Code code, const char* call) const;
  // Returns whether the call before is done with its part on the host.
  [[nodiscard]] bool is_begun() const;
  [[nodiscard]] NcclApi::Code enqueue(const Operation& operation) const;
  void close();

  const NcclApi& nccl_;
  const CudaRuntime& cuda_;
  const int device_;
  CudaRuntime::Stream stream_ = nullptr;
  NcclApi::Communicator ranks_ = nullptr;
  std::shared_ptr<const Moment> done_;  // the end of the operation in progress; null: not begun
  bool is_starting_ = true;
};

}  // namespace bp

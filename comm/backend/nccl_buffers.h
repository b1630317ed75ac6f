// Device memory that NCCL allocates and knows: its operations then read and write it in place,
// where the hardware can. A communicator of NCCL must have it registered, and must let it go before
// it is freed.
//
// Threads: allocate() and the end of a buffer: any. The others: the one that uses the communicator.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "comm/device/nccl_api.h"

namespace bp {

class NcclBuffers : public std::enable_shared_from_this<NcclBuffers> {
 public:
  // Returns memory of the CUDA device with this index, aligned to 64 bytes and of undefined
  // content; null where NCCL has none to give.
  [[nodiscard]] std::shared_ptr<std::byte> allocate(std::size_t bytes, int device);
  // Registers what was allocated on the device since the last call. If no operation runs, lets go
  // what has ended meanwhile. Returns NCCL's first error.
  [[nodiscard]] NcclApi::Code update(NcclApi::Communicator ranks, int device, bool none_runs);
  // The communicator ends in order: lets all go.
  void release(NcclApi::Communicator ranks);
  // The communicator was aborted, and has let all go.
  void forget();

 private:
  struct Buffer {
    std::size_t bytes = 0;
    int device = 0;
    void* handle = nullptr;  // null: not registered
    bool has_ended = false;  // it is freed once it is let go
  };
  void end(std::byte* memory);
  void free(std::byte* memory, int device) const;

  std::mutex mutex_;
  std::map<std::byte*, Buffer> buffers_;  // guarded by mutex_
};

}  // namespace bp

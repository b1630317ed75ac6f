// Device memory that NCCL allocates and that is registered with one communicator of NCCL.
// Operations read and write such memory in place where the hardware supports that. The communicator
// must deregister a buffer before it is freed.
//
// Threads: any thread may call allocate() and release a buffer. Only the thread that uses the
// communicator may call the other functions.
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

}  // namespace bp

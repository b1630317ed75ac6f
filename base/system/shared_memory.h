// Memory that several processes map: a memfd. No file system limits its size, and the kernel frees
// it with its last user. Its size is sealed, because a process that truncated it would raise SIGBUS
// in every reader. It is sparse: only pages that were touched take memory. They are huge where the
// kernel allows that for shared memory (/sys/kernel/mm/transparent_hugepage/shmem_enabled: advise).
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/system/fd.h"

namespace bp {

class SharedMemory {
 public:
  // A huge page lies at a multiple of its size, in the memory and in each mapping of it.
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  // Makes `bytes` bytes of zeros. /proc/PID/maps shows `name`. Throws io.
  static SharedMemory create(const char* name, std::size_t bytes);
  // Maps what another process created and sent. Throws io, also if its size is not sealed.
  static SharedMemory open(Fd file);

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept
      : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const Fd& file() const { return file_; }  // the memfd
  // Frees whole pages, which then read as zeros. Throws io.
  void give_back(std::size_t offset, std::size_t size);

 private:
  SharedMemory(Fd file, std::size_t bytes);

  Fd file_;
  std::span<std::byte> bytes_;
};

}  // namespace bp

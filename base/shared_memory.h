// Memory that several processes map: a memfd. No folder bounds it, it is gone with its last user,
// and its size is sealed, so that nobody can cut it off under a reader (which would be a SIGBUS).
// It is sparse: only pages that were touched take memory.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/fd.h"

namespace bp {

class SharedMemory {
 public:
  // `bytes` of zeros; `name` is seen in /proc/PID/maps. Throws io.
  static SharedMemory create(const char* name, std::size_t bytes);
  // What another process has created and sent us; throws io, also where its size is not sealed.
  static SharedMemory open(Fd file);

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept
      : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const Fd& file() const { return file_; }  // of what was created here
  // Gives whole pages of what was created here back; they read as zeros again. Throws io.
  void give_back(std::size_t offset, std::size_t size);

 private:
  SharedMemory(Fd file, std::size_t bytes);

  Fd file_;
  std::span<std::byte> bytes_;
};

}  // namespace bp

// The memory that one rank shares with the others of its host, and what it has given out of it. All
// of them map it whole, so a piece is known to the others by its offset alone.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

#include "base/shared_memory.h"

namespace bp {

class Arena {
 public:
  explicit Arena(SharedMemory memory);

  // A piece of zeros that begins on a page, as an offset. Throws io where no gap is left.
  [[nodiscard]] std::size_t allocate(std::size_t bytes);
  // The piece that begins there. The others must have no more business in it.
  void release(std::size_t offset) noexcept;

  [[nodiscard]] std::byte* at(std::size_t offset) const { return memory_.bytes().data() + offset; }
  // Where `data` lies, if all `bytes` of it lie here.
  [[nodiscard]] std::optional<std::size_t> offset_of(const std::byte* data,
                                                     std::size_t bytes) const;
  [[nodiscard]] const SharedMemory& memory() const { return memory_; }

 private:
  SharedMemory memory_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> gaps_;    // bytes by offset; no two touch. Guarded by mutex_
  std::map<std::size_t, std::size_t> pieces_;  // likewise
};

// How much address space the arena of each of so many ranks takes: what this machine has of memory,
// as nobody can fill more; less where the process may not have that much (ulimit -v), for every
// rank maps all of them.
[[nodiscard]] std::size_t arena_bytes(int ranks);

}  // namespace bp

// The part of the memory of a host's ranks that one of them allocates from. All these ranks map
// the whole memory, so an offset in an arena identifies a piece to all of them.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/system/shared_memory.h"

namespace bp {

class Arena {
 public:
  // `bytes` bytes of `memory` from `begin` on.
  Arena(std::shared_ptr<SharedMemory> memory, std::size_t begin, std::size_t bytes);

  // Allocates at least `bytes` zeroed bytes and returns their offset, a multiple of the size of a
  // page, and from SharedMemory::kHugePage bytes on of a huge page. Throws io if no gap is large
  // enough.
  [[nodiscard]] std::size_t allocate(std::size_t bytes);
  // Frees the piece at `offset`, if there is one. No other rank may access it any more.
  void release(std::size_t offset) noexcept;

  [[nodiscard]] std::byte* at(std::size_t offset) const { return all_.data() + offset; }
  // Returns the offset of `data` if all its bytes lie in this arena.
  [[nodiscard]] std::optional<std::size_t> offset_of(const std::byte* data,
                                                     std::size_t bytes) const;

 private:
  const std::shared_ptr<SharedMemory> memory_;
  const std::size_t begin_;  // in memory_
  const std::span<std::byte> all_;
  std::mutex mutex_;
  std::map<std::size_t, std::size_t> gaps_;    // bytes by offset; no two touch. Guarded by mutex_
  std::map<std::size_t, std::size_t> pieces_;  // guarded by mutex_
};

// Returns the physical memory of this machine.
[[nodiscard]] std::size_t machine_memory();

// Returns the bytes of address space for each of `ranks` arenas: `memory`, since no rank can fill
// more. It is less under ulimit -v, and where all arenas together would take more than a quarter of
// the 128 TiB that a process has, because every rank maps all arenas. A world that recovers maps
// those of its predecessor, too.
[[nodiscard]] std::size_t arena_bytes(int ranks, std::size_t memory = machine_memory());

}  // namespace bp

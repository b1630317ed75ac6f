// What the ranks of one host share: the arenas of all ranks, which every rank maps, and a link
// between each two ranks. The link's end shows a rank that the other's process has ended. Where the
// kernel allows it, the ranks also access the rest of each other's memory, by system calls.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/shared_memory.h"
#include "comm/shared/arena.h"
#include "comm/shared/channel_pool.h"
#include "comm/shared/process_memory.h"

namespace bp {

class SharedHost {
 public:
  struct Neighbour {
    std::span<std::byte> memory;  // the neighbour's arena, as mapped here
    Fd link;                      // none for this rank itself
    SharedMemory mapping;         // none if another owner keeps it
    ProcessMemory process = {};   // the neighbour's own memory
  };

  // `neighbours`: by rank on this host, with this rank itself. `first`: the world rank of this
  // host's first rank. `open`: whether each rank of the host can access the memory of all others.
  SharedHost(std::shared_ptr<Arena> own, std::vector<Neighbour> neighbours, int first, bool open)
      : own_(std::move(own)),
        channels_(*own_),
        neighbours_(std::move(neighbours)),
        first_(first),
        open_(open) {}

  [[nodiscard]] Arena& own() { return *own_; }
  // What this rank's communicators have of own().
  [[nodiscard]] ChannelPool& channels() { return channels_; }
  [[nodiscard]] int first() const { return first_; }
  [[nodiscard]] std::byte* at(int rank, std::size_t offset) const {
    return neighbours_[static_cast<std::size_t>(rank)].memory.data() + offset;
  }
  // Whether `bytes` bytes from `offset` on lie in the arena of that rank.
  [[nodiscard]] bool has(int rank, std::size_t offset, std::size_t bytes) const {
    const std::size_t size = neighbours_[static_cast<std::size_t>(rank)].memory.size();
    return offset <= size && bytes <= size - offset;
  }
  // Gets memory for a part of an arena, and maps it into this process before its first access.
  void map(int rank, std::size_t offset, std::size_t bytes) const;
  // True if the process of that rank has ended, or has destroyed its communicators.
  [[nodiscard]] bool is_gone(int rank) const;

  // Whether read() and write() may be called. The same on all ranks of the host.
  [[nodiscard]] bool is_open() const { return open_; }
  // Copies between the caller's memory and what `rank` has at an address in its process. Both throw
  // TransportFailure.
  void read(int rank, std::byte* to, std::uint64_t from, std::size_t bytes) const;
  void write(int rank, std::uint64_t to, const std::byte* from, std::size_t bytes) const;

 private:
  std::shared_ptr<Arena> own_;
  ChannelPool channels_;
  std::vector<Neighbour> neighbours_;
  int first_;
  bool open_;
};

}  // namespace bp

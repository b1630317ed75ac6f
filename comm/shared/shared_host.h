// The ranks of one host share the arenas of all ranks, which every rank maps, and a link between
// each two ranks. The link's end shows a rank that the other's process has ended. Where the kernel
// allows it, the ranks also access the rest of each other's memory, by system calls.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "base/system/fd.h"
#include "base/system/shared_memory.h"
#include "comm/shared/arena.h"
#include "comm/shared/process_memory.h"

namespace bp {

// The pieces of this rank's arena that its communicators use (SharedChannel), and those that the
// next ones can use again. The ranks of a communicator leave it at different times, and a slower
// one may still read what this rank has written. So each of them counts itself out in the piece of
// every rank, and a piece is free when its owner and all others have.
//
// Threads: any.
class ChannelPool {
 public:
  // The first bytes of a channel. They are zeros when a communicator gets it; what follows is not,
  // if the channel was used before.
  static constexpr std::size_t kHead = 4096;

  // `arena` must outlive this object.
  explicit ChannelPool(Arena& arena) : arena_(arena) {}

  // Returns the offset of a channel of `bytes` bytes. Throws io if the arena has no room.
  [[nodiscard]] std::size_t take(std::size_t bytes);
  // This rank has left the communicator of its channel at `offset`, which `ranks` ranks have.
  void give_back(std::size_t offset, std::size_t bytes, std::size_t ranks);
  // Counts one rank out of a communicator, in `channel`, which is another rank's or its own.
  static void leave(std::byte* channel);

 private:
  struct Left {
    std::size_t offset = 0;
    std::size_t bytes = 0;
    std::size_t ranks = 0;
  };
  [[nodiscard]] bool is_free(const Left& channel) const;

  Arena& arena_;
  std::mutex mutex_;
  std::vector<Left> left_;  // by this rank; guarded by mutex_
};

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

// Returns zeroed memory of this rank's arena, which keeps `host`. Throws as Arena::allocate().
[[nodiscard]] std::shared_ptr<std::byte> allocate_shared(std::shared_ptr<SharedHost> host,
                                                         std::size_t bytes);

}  // namespace bp

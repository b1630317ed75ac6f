// The ranks of one host share one memory, which every rank maps: an arena for each rank. Where the
// kernel allows it, the ranks also access the rest of each other's memory, by system calls.
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

#include "base/system/shared_memory.h"
#include "comm/shared/arena.h"
#include "comm/shared/presence.h"
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
  // This rank's view of the shared memory and of the ranks that map it.
  struct Parts {
    std::shared_ptr<SharedMemory> memory;  // arenas of one size, by rank on this host
    int rank = 0;                          // on this host
    int first = 0;                         // the world rank of this host's first rank
    Presence presence;                     // of this rank
    std::vector<ProcessMemory> processes;  // by rank on this host
    bool open = false;                     // whether each rank can access the memory of all others
  };
  explicit SharedHost(Parts parts)
      : parts_(std::move(parts)),
        all_(parts_.memory->bytes()),
        arena_bytes_(all_.size() / parts_.processes.size()),
        own_(parts_.memory, static_cast<std::size_t>(parts_.rank) * arena_bytes_, arena_bytes_),
        channels_(own_) {}

  [[nodiscard]] Arena& own() { return own_; }
  [[nodiscard]] const SharedMemory& memory() const { return *parts_.memory; }
  // What this rank's communicators have of own().
  [[nodiscard]] ChannelPool& channels() { return channels_; }
  [[nodiscard]] int first() const { return parts_.first; }
  [[nodiscard]] std::byte* at(int rank, std::size_t offset) const {
    return all_.data() + static_cast<std::size_t>(rank) * arena_bytes_ + offset;
  }
  // Whether `bytes` bytes from `offset` on lie in an arena.
  [[nodiscard]] bool has(std::size_t offset, std::size_t bytes) const {
    return offset <= arena_bytes_ && bytes <= arena_bytes_ - offset;
  }
  // Gets memory for a part of an arena, and maps it into this process before its first access.
  void map(int rank, std::size_t offset, std::size_t bytes) const;
  // True if the process of that rank has ended, or has destroyed its communicators.
  [[nodiscard]] bool is_gone(int rank) const { return parts_.presence.is_gone(rank); }

  // Whether read() and write() may be called. The same on all ranks of the host.
  [[nodiscard]] bool is_open() const { return parts_.open; }
  // Copies between the caller's memory and what `rank` has at an address in its process. Both throw
  // TransportFailure.
  void read(int rank, std::byte* to, std::uint64_t from, std::size_t bytes) const;
  void write(int rank, std::uint64_t to, const std::byte* from, std::size_t bytes) const;

 private:
  [[nodiscard]] const ProcessMemory& process(int rank) const {
    return parts_.processes[static_cast<std::size_t>(rank)];
  }

  const Parts parts_;
  const std::span<std::byte> all_;
  const std::size_t arena_bytes_;
  Arena own_;
  ChannelPool channels_;
};

// Returns zeroed memory of this rank's arena, which keeps `host`. Throws as Arena::allocate().
[[nodiscard]] std::shared_ptr<std::byte> allocate_shared(std::shared_ptr<SharedHost> host,
                                                         std::size_t bytes);

}  // namespace bp

// The pieces of this rank's arena that its communicators use (SharedChannel), and those that the
// next ones can use again. The ranks of a communicator leave it at different times, and a slower
// one may still read what this rank has written. So each of them counts itself out in the piece of
// every rank, and a piece is free when its owner and all others have.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "comm/shared/arena.h"

namespace bp {

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

}  // namespace bp

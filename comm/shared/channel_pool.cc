#include "comm/shared/channel_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace bp {
namespace {

using Counter = std::atomic<std::uint32_t>;
static_assert(Counter::is_always_lock_free, "shared between processes");

// At the end of the head, where no other line of it is used.
Counter& ranks_gone(std::byte* channel) {
  return *reinterpret_cast<Counter*>(channel + ChannelPool::kHead - 64);
}

}  // namespace

// The release makes sure that this rank's last accesses come first; is_free() acquires it.
void ChannelPool::leave(std::byte* channel) {
  ranks_gone(channel).fetch_add(1, std::memory_order_release);
}

bool ChannelPool::is_free(const Left& channel) const {
  return ranks_gone(arena_.at(channel.offset)).load(std::memory_order_acquire) == channel.ranks;
}

std::size_t ChannelPool::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      left_, [&](const Left& one) { return one.bytes == bytes && is_free(one); });
  if (found == left_.end()) return arena_.allocate(bytes);
  const std::size_t offset = found->offset;
  left_.erase(found);
  std::memset(arena_.at(offset), 0, kHead);
  return offset;
}

void ChannelPool::give_back(std::size_t offset, std::size_t bytes, std::size_t ranks) {
  const std::lock_guard lock(mutex_);
  left_.push_back({offset, bytes, ranks});
}

}  // namespace bp

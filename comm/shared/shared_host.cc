#include "comm/shared/shared_host.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "comm/transport/transport.h"

namespace bp {
namespace {

using Counter = std::atomic<std::uint32_t>;
static_assert(Counter::is_always_lock_free, "shared between processes");

// At the end of the head, where no other line of it is used.
Counter& ranks_gone(std::byte* channel) {
  return *reinterpret_cast<Counter*>(channel + ChannelPool::kHead - 64);
}

}  // namespace

void SharedHost::map(int rank, std::size_t offset, std::size_t bytes) const {
  // If the kernel does not know this flag, or has no memory, the first access maps the page.
  (void)::madvise(at(rank, offset), bytes, MADV_POPULATE_WRITE);
}

void SharedHost::read(int rank, std::byte* to, std::uint64_t from, std::size_t bytes) const {
  process(rank).read(to, from, bytes);
}

// The number of a process that has ended may become that of another one, so this looks before each
// piece, which takes less than the kernel needs to use as many numbers.
void SharedHost::write(int rank, std::uint64_t to, const std::byte* from, std::size_t bytes) const {
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    if (is_gone(rank)) throw TransportFailure(ErrorCode::peer_lost, "its process has ended");
    process(rank).write(to + done, from + done, std::min(kPiece, bytes - done));
  }
}

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
  left_.push_back({.offset = offset, .bytes = bytes, .ranks = ranks});
}

std::shared_ptr<std::byte> allocate_shared(std::shared_ptr<SharedHost> host, std::size_t bytes) {
  const std::size_t offset = host->own().allocate(bytes);
  std::byte* const data = host->own().at(offset);
  return {data, [host = std::move(host), offset](std::byte*) { host->own().release(offset); }};
}

}  // namespace bp

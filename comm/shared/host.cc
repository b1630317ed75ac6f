#include "comm/shared/host.h"

#include <poll.h>
#include <sys/mman.h>

#include <algorithm>

#include "comm/transport/transport.h"

namespace bp {

void SharedHost::map(int rank, std::size_t offset, std::size_t bytes) const {
  // If the kernel does not know this flag, or has no memory, the first access maps the page.
  (void)::madvise(at(rank, offset), bytes, MADV_POPULATE_WRITE);
}

bool SharedHost::is_gone(int rank) const {
  const Fd& link = neighbours_[static_cast<std::size_t>(rank)].link;
  if (!link) return false;
  pollfd ask{.fd = link.get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&ask, 1, 0) > 0;
}

void SharedHost::read(int rank, std::byte* to, std::uint64_t from, std::size_t bytes) const {
  neighbours_[static_cast<std::size_t>(rank)].process.read(to, from, bytes);
}

// The number of a process that has ended may become that of another one, so this looks before each
// piece, which takes less than the kernel needs to use as many numbers.
void SharedHost::write(int rank, std::uint64_t to, const std::byte* from, std::size_t bytes) const {
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  for (std::size_t done = 0; done < bytes; done += kPiece) {
    if (is_gone(rank)) throw TransportFailure(ErrorCode::peer_lost, "its process has ended");
    neighbours_[static_cast<std::size_t>(rank)].process.write(to + done, from + done,
                                                              std::min(kPiece, bytes - done));
  }
}

}  // namespace bp

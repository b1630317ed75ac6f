#include "comm/shared/host.h"

#include <poll.h>
#include <sys/mman.h>

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

}  // namespace bp

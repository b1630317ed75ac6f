#include "comm/shared/host.h"

#include <poll.h>

namespace bp {

bool SharedHost::is_gone(int rank) const {
  const Fd& link = neighbours_[static_cast<std::size_t>(rank)].link;
  if (!link) return false;
  pollfd ask{.fd = link.get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&ask, 1, 0) > 0;
}

}  // namespace bp

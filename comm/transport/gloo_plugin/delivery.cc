#include "comm/transport/gloo_plugin/delivery.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "comm/transport/gloo_plugin/adopt.h"

namespace bp::gloo_plugin {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

// How long to wait for the end of a connection before the next look at what is acknowledged. A peer
// closes its end at once, unless a signal has stopped it.
constexpr microseconds kShortestPause{50};
constexpr microseconds kLongestPause{5'000};

// Returns the bytes that the peer's kernel has not acknowledged. The end of sending counts as one.
std::size_t unacknowledged(int fd) {
  int bytes = 0;
  return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 ? static_cast<std::size_t>(std::max(bytes, 0)) : 0;
}

}  // namespace

Delivery::Delivery(gloo::transport::Context& context, int rank) : context_(context) {
  for (int peer = 0; peer < context.size; ++peer) {
    if (peer == rank) continue;
    if (const int fd = duplicate_connection(context, peer); fd >= 0) {
      links_.push_back({.peer = peer, .fd = fd});
    }
  }
}

Delivery::~Delivery() {
  for (const Link& link : links_) ::close(link.fd);
}

bool Delivery::is_delivered(Link& link) {
  if (!link.has_ended) {
    if (is_writing(context_, link.peer)) return false;
    ::shutdown(link.fd, SHUT_WR);
    link.has_ended = true;
  }
  return unacknowledged(link.fd) == 0;
}

void Delivery::wait_for_ends(Clock::duration most) {
  std::vector<pollfd> all;
  for (const Link& link : links_) all.push_back({.fd = link.fd, .events = 0, .revents = 0});
  const auto pause = std::max(duration_cast<nanoseconds>(most), nanoseconds{0});
  const timespec time{.tv_sec = 0, .tv_nsec = pause.count()};
  ::ppoll(all.data(), all.size(), &time, nullptr);
  std::erase_if(links_, [&](const Link& link) {
    const auto found = std::ranges::find(all, link.fd, &pollfd::fd);
    if ((found->revents & (POLLHUP | POLLERR)) == 0) return false;
    ::close(link.fd);
    return true;
  });
}

bool Delivery::wait(Clock::time_point deadline, const std::atomic<bool>& stop) {
  for (auto pause = kShortestPause;; pause = std::min(2 * pause, kLongestPause)) {
    std::erase_if(links_, [this](Link& link) {
      if (!is_delivered(link)) return false;
      ::close(link.fd);
      return true;
    });
    if (links_.empty()) return true;
    const auto now = Clock::now();
    if (now >= deadline || stop.load(std::memory_order_acquire)) return false;  // see Waits
    wait_for_ends(std::min<Clock::duration>(pause, deadline - now));
  }
}

Undelivered Delivery::left() const {
  return {.peer = links_.front().peer, .bytes = unacknowledged(links_.front().fd)};
}

}  // namespace bp::gloo_plugin

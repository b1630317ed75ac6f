// Finds connections that carry nothing any more, although both ends live: packets of a certain size
// or direction get lost, or a firewall has forgotten the connection. TCP repeats lost bytes for
// minutes before it gives up, and a rank that only receives sees nothing at all.
//
// Pure: the caller passes in states and times.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace bp {

// What the kernel knows of the connection to a peer.
struct LinkState {
  std::uint64_t acknowledged = 0;  // bytes that the peer has acknowledged
  std::uint64_t arrived = 0;       // packets of the peer, with or without data
  std::size_t in_flight = 0;       // bytes on their way. None while the peer takes none.
  int unanswered = 0;              // keepalive probes in a row
};

// A connection that carries nothing.
struct DeadLink {
  std::chrono::milliseconds silent{0};  // for how long
  std::size_t in_flight = 0;            // bytes that were sent and not acknowledged
  bool hears_peer = false;              // packets of the peer arrive
};

class LinkWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes the present state. Returns what is wrong if bytes are in flight since an earlier look and
  // none of them has been acknowledged since then, or if the peer answers no keepalive probe.
  [[nodiscard]] std::optional<DeadLink> look(const LinkState& now, Clock::time_point at);

 private:
  LinkState before_;              // when the silence began
  Clock::time_point begin_ = {};  // of the silence
  bool is_silent_ = false;
};

}  // namespace bp

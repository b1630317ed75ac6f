// What both ends set on a store connection.
#pragma once

#include <chrono>

namespace bp {

// How long a peer of the store may be silent unless the launcher says otherwise.
inline constexpr std::chrono::milliseconds kStoreSilence{10'000};
// How often a client says in that time that it is alive.
inline constexpr int kBeatsInSilence = 5;

// Small frames leave at once, and the kernel notices a peer whose host or network has gone. The
// kernel still answers for a process that is merely slow or stopped (unless more lies unread than
// its buffer takes). A network that comes back after less than `silence` breaks no connection:
//
// - Linux 6.15 and later send lost bytes again each second, and give up after `silence`.
// - Earlier kernels double the pause before each repetition, so that the next one may come as long
//   after the end of an outage as that has taken. They give up after twice `silence` and 2 s.
//
// Best effort: a connection works without any of this. It may be set again with another `silence`.
void prepare_store_socket(int fd, std::chrono::milliseconds silence = kStoreSilence);

}  // namespace bp

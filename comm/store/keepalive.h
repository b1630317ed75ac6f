// The socket options that both ends set on a store connection.
#pragma once

#include <chrono>

namespace bp {

// How long a peer of the store may be silent, unless the launcher sets another limit.
inline constexpr std::chrono::milliseconds kStoreSilence{10'000};
// The number of heartbeats that a client sends in that time.
inline constexpr int kBeatsInSilence = 5;

// Makes the kernel send small frames at once and detect a peer whose host or network has gone. A
// peer that is only slow or stopped is not taken for gone, because its kernel still answers (unless
// its receive buffer is full). A network outage of less than `silence` breaks no connection:
//
// - Linux 6.15 and later resend lost bytes each second, and give up after `silence`.
// - Earlier kernels double the pause before each repetition, so after an outage the next one may
//   take as long again as the outage took. They give up after twice `silence` and 2 s.
//
// Ignores errors, because a connection works without these options. May be called again with
// another `silence`.
void prepare_store_socket(int fd, std::chrono::milliseconds silence = kStoreSilence);

}  // namespace bp

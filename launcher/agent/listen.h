// TCP sockets as text and numbers.
#pragma once

#include <string>

#include "base/fd.h"

namespace bp::launcher {

// Listens at a numeric address; an empty one is all there are, of IPv6 too where there is any. Port
// 0: any free one. Throws invalid_argument saying why not.
[[nodiscard]] Fd listen_at(const std::string& address, int port);

// A connection that waits; empty where none does. Close-on-exec.
[[nodiscard]] Fd accept_waiting(int listener);

[[nodiscard]] int port_of(int socket);
// Numeric, without port; IPv4 as IPv4 on whatever socket. Empty where there is none.
[[nodiscard]] std::string own_address_of(int socket);
[[nodiscard]] std::string peer_address_of(int socket);

}  // namespace bp::launcher

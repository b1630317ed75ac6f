// Listening TCP sockets, and addresses of sockets as text.
#pragma once

#include <string>

#include "base/system/fd.h"

namespace bp::launcher {

// Listens at a numeric address; at all addresses, IPv6 included if the machine has it, if `address`
// is empty. Port 0 takes any free port. Throws invalid_argument with the reason if that fails.
[[nodiscard]] Fd listen_at(const std::string& address, int port);

// Accepts a pending connection, close-on-exec. Empty if there is none, with errno.
[[nodiscard]] Fd accept_waiting(int listener);

[[nodiscard]] int port_of(int socket);
// Numeric, without port; an IPv4 address as IPv4 even on an IPv6 socket. Empty if the socket has
// none.
[[nodiscard]] std::string own_address_of(int socket);
[[nodiscard]] std::string peer_address_of(int socket);

}  // namespace bp::launcher

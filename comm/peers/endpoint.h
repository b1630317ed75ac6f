// Where a rank listens for its peers: a TCP address, or an abstract Unix socket of this machine,
// and the identity that handshakes with it cover (handshake.h).
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

#include "base/fd.h"
#include "base/hmac.h"
#include "comm/peers/local_address.h"

namespace bp {

struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;
  Bytes32 identity{};

  [[nodiscard]] bool local() const { return address.ss_family == AF_UNIX; }
  [[nodiscard]] int socket_type() const { return local() ? SOCK_SEQPACKET : SOCK_STREAM; }
  // "127.0.0.1:4711", "[::1]:4711"; "this machine" for a Unix socket.
  [[nodiscard]] std::string name() const;
  // For the store, and back. Nothing where the text is not of encode().
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<Endpoint> decode(std::string_view text);
};

struct Listening {
  Fd socket;  // nonblocking
  Endpoint at;
};

// On any free port. Throws io, with the address, and invalid_argument where the interface has none.
[[nodiscard]] Listening listen_tcp(const ListenOn& where);
// Under a random name in Linux' abstract namespace, which leaves no file behind. Throws io.
[[nodiscard]] Listening listen_unix();

}  // namespace bp

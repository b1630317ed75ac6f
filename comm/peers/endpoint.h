// The address at which a rank listens for its peers: TCP, or an abstract Unix socket of this
// machine. With it goes the random identity that every handshake with that rank covers
// (peer_handshake.h).
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/keys/hmac.h"
#include "base/system/fd.h"
#include "base/system/socket_address.h"
#include "comm/peers/local_address.h"

namespace bp {

struct Endpoint : SocketAddress {
  Bytes32 identity{};

  [[nodiscard]] bool local() const { return address.ss_family == AF_UNIX; }
  [[nodiscard]] int socket_type() const { return local() ? SOCK_SEQPACKET : SOCK_STREAM; }
  // "127.0.0.1:4711", "[::1]:4711"; "this machine" for a Unix socket.
  [[nodiscard]] std::string name() const;
  // To text for the store, and back. decode() returns nothing for other text.
  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static std::optional<Endpoint> decode(std::string_view text);
};

struct Listening {
  Fd socket;  // nonblocking
  Endpoint at;
};

// Listens on a free TCP port. Throws io, with the address, if that fails, and invalid_argument if
// the interface has no address or the address is not numeric.
[[nodiscard]] Listening listen_tcp(const ListenOn& where);
// Listens on a Unix socket with a random name in Linux' abstract namespace, which leaves no file.
// Throws io.
[[nodiscard]] Listening listen_unix();

}  // namespace bp

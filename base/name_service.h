// Host names to addresses, by a deadline.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "base/deadline.h"

namespace bp {

struct NameQuery {
  std::string host;  // a name, or a numeric address, which asks nobody
  std::string port;  // a number
  int socket_type = SOCK_STREAM;
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// getaddrinfo(), or what stands in for it in a test.
using Lookup = std::function<int(const char*, const char*, const addrinfo*, addrinfo**)>;

// Null where the name has no address or the name service is silent until `deadline`; `why` says
// which. getaddrinfo() itself knows no deadline, so a thread asks, which is left to itself when its
// answer comes too late.
[[nodiscard]] Addresses resolve(const NameQuery& query,
                                const Deadline& deadline,
                                std::string& why,
                                const Lookup& lookup = ::getaddrinfo);

}  // namespace bp

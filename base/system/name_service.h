// Resolves host names, with a deadline.
#pragma once

#include <netdb.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "base/deadline.h"

namespace bp {

struct NameQuery {
  std::string host;  // a name, or a numeric address, for which no name service is asked
  std::string port;  // a number
  int socket_type = SOCK_STREAM;
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// getaddrinfo(), or a function that replaces it in a test.
using Lookup = std::function<int(const char*, const char*, const addrinfo*, addrinfo**)>;

// Returns the addresses of the host. Returns null, and the reason in `why`, if the name has no
// address or the name service does not answer until `deadline`. getaddrinfo() has no deadline, so a
// thread calls it; that thread is abandoned if the answer comes too late.
[[nodiscard]] Addresses resolve(const NameQuery& query,
                                const Deadline& deadline,
                                std::string& why,
                                const Lookup& lookup = ::getaddrinfo);

}  // namespace bp

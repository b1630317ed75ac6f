#include "comm/store/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/system/name_service.h"
#include "base/system/socket_address.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/store/keepalive.h"

namespace bp {
namespace {

constexpr std::size_t kReadSize = std::size_t{16} << 10;

bool wait_for(int fd, short events, const Deadline& deadline, std::string& why) {
  while (true) {
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    constexpr std::int64_t kLongest = std::numeric_limits<int>::max();
    const int ready = ::poll(
        &entry, 1, static_cast<int>(std::min<std::int64_t>(deadline.left().count(), kLongest)));
    if (ready > 0) {
      return true;
    }
    if (ready == 0 && deadline.passed()) {
      why = "no answer";
      return false;
    }
    if (ready < 0 && errno != EINTR) {
      why = error_text(errno);
      return false;
    }
  }
}

Fd connect_to(const addrinfo& info, const Deadline& deadline, std::string& why) {
  Fd fd(
      ::socket(info.ai_family, info.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, info.ai_protocol));
  if (!fd) {
    const int error = errno;
    why = error_text(error);
    if (error == EMFILE || error == ENFILE) {
      throw Error(ErrorCode::io, concat(why, "; raise the limit (ulimit -n)"));
    }
    return {};
  }
  if (::connect(fd.get(), info.ai_addr, info.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) {
      why = error_text(errno);
      return {};
    }
    if (!wait_for(fd.get(), POLLOUT, deadline, why)) {
      return {};
    }
    if (const int error = connecting_error(fd.get()); error != 0) {
      why = error_text(error);
      return {};
    }
  }
  return fd;
}

// A client that connects to an ephemeral port of its own machine before the server listens may be
// given that same port as its own; TCP then connects it to itself.
bool is_connected_to_itself(int fd) {
  const SocketAddress own = own_address(fd);
  const SocketAddress peer = peer_address(fd);
  return own && own.size == peer.size && std::memcmp(&own.address, &peer.address, own.size) == 0;
}

}  // namespace

Fd connect_tcp(const StoreAddress& address, const Deadline& deadline, std::string& why) {
  const Addresses all = resolve({address.host, std::to_string(address.port)}, deadline, why);
  for (const addrinfo* info = all.get(); info != nullptr; info = info->ai_next) {
    Fd fd = connect_to(*info, deadline, why);
    if (fd && is_connected_to_itself(fd.get())) {
      why = error_text(ECONNREFUSED);
      continue;
    }
    if (fd) {
      prepare_store_socket(fd.get());
      return fd;
    }
  }
  return {};
}

bool send_all(int fd, std::string_view bytes, const Deadline& deadline, std::string& why) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(fd, POLLOUT, deadline, why)) {
        return false;
      }
    } else if (errno != EINTR) {
      why = error_text(errno);
      return false;
    }
  }
  return true;
}

bool is_readable(int fd, const Deadline& deadline) {
  std::string why;
  return wait_for(fd, POLLIN, deadline, why) || !deadline.passed();
}

bool receive_some(int fd, std::string& buffer, const Deadline& deadline, std::string& why) {
  const std::size_t used = buffer.size();
  buffer.resize(used + kReadSize);
  while (true) {
    const ssize_t received = ::recv(fd, buffer.data() + used, kReadSize, 0);
    if (received > 0) {
      buffer.resize(used + static_cast<std::size_t>(received));
      return true;
    }
    if (received == 0) {
      why = "the other side closed the connection";
      break;
    }
    if (errno == EAGAIN) {
      if (!wait_for(fd, POLLIN, deadline, why)) {
        break;
      }
    } else if (errno != EINTR) {
      why = error_text(errno);
      break;
    }
  }
  buffer.resize(used);
  return false;
}

}  // namespace bp

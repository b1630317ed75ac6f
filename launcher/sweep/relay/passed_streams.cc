#include "launcher/sweep/relay/passed_streams.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"

namespace bp::launcher::sweep {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10;  // of a host's name and a command
constexpr int kStreams = 3;
constexpr int kConnectionLost = 255;  // ssh's own code

using Control = std::array<char, CMSG_SPACE(kStreams * sizeof(int))>;

// Adopts the descriptors of a received message.
std::vector<Fd> take_descriptors(msghdr& message) {
  std::vector<Fd> fds;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  return fds;
}

Fd connect_to(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  return socket;
}

}  // namespace

bool pass_streams(int socket, const std::string& host, const std::string& command) {
  std::string text = host + '\0' + command;
  iovec bytes{text.data(), text.size()};
  const int streams[kStreams] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  alignas(cmsghdr) Control control{};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof streams);
  std::memcpy(CMSG_DATA(header), streams, sizeof streams);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

std::optional<PassedStreams> receive_streams(int socket) {
  std::string text(kMostBytes, '\0');
  iovec bytes{text.data(), text.size()};
  alignas(cmsghdr) Control control{};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  auto fds = take_descriptors(message);
  if (got <= 0 || fds.size() != kStreams || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(got));
  const std::size_t end = text.find('\0');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  return PassedStreams{.host = text.substr(0, end),
                       .command = text.substr(end + 1),
                       .input = std::move(fds[0]),
                       .output = std::move(fds[1]),
                       .errors = std::move(fds[2])};
}

int through_main(const std::string& socket_path,
                 const std::string& host,
                 const std::string& command) {
  const Fd socket = connect_to(socket_path);
  if (!socket || !pass_streams(socket.get(), host, command)) {
    std::fprintf(stderr, "bprun sweep: the sweep has ended (%s: %s)\n", socket_path.c_str(),
                 error_text(errno).c_str());
    return kConnectionLost;
  }
  // The sweep has the streams now, and their ends must show at the other side.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::close(stream);
  }
  std::int32_t code = kConnectionLost;
  ssize_t got = 0;
  do {
    got = ::recv(socket.get(), &code, sizeof code, 0);
  } while (got < 0 && errno == EINTR);
  return got == sizeof code ? code : kConnectionLost;
}

}  // namespace bp::launcher::sweep

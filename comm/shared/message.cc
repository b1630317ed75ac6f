#include "comm/shared/message.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "bp/error.h"

namespace bp {
namespace {

constexpr std::size_t kLongestName = 256;

// Room for one descriptor in addition to a message.
union Beside {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> room;
};

[[noreturn]] void cannot_reach(const char* doing, const std::string& why) {
  throw Error(ErrorCode::io, concat("cannot ", doing, " a neighbour on this host: ", why));
}

}  // namespace

void send_message(int socket, std::string_view text, int file) {
  iovec part{.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  Beside beside = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = beside.room.data();
    message.msg_controllen = beside.room.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof(int));
  }
  // The message has a few hundred bytes, for which a new socket always has room.
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    cannot_reach("write to", error_text(errno));
  }
}

NeighbourMessage receive_message(int socket, const Deadline& deadline) {
  pollfd ask{.fd = socket, .events = POLLIN, .revents = 0};
  if (::poll(&ask, 1, static_cast<int>(deadline.left().count())) == 0) {
    throw Error(ErrorCode::timeout,
                "cannot read from a neighbour on this host: it sent nothing in time");
  }
  NeighbourMessage received{std::string(kLongestName, '\0'), Fd()};
  iovec part{.iov_base = received.text.data(), .iov_len = received.text.size()};
  Beside beside = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.room.data();
  message.msg_controllen = beside.room.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) cannot_reach("read from", error_text(errno));
  if (size == 0) cannot_reach("read from", "it is gone");
  received.text.resize(static_cast<std::size_t>(size));
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(header), sizeof(int));
    received.file = Fd(file);
  }
  return received;
}

}  // namespace bp

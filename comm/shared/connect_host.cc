#include "comm/shared/connect_host.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/peers/connect_peers.h"

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

// Messages over a Unix socket (SOCK_SEQPACKET), which may carry a file descriptor (SCM_RIGHTS).
struct NeighbourMessage {
  std::string text;
  Fd file;  // empty if none came, or if this process may open no more files
};

// `file`: -1 for none. Both throw io; receive_message() does so also if the peer has closed the
// socket, and throws timeout at the deadline.
void send_message(int socket, std::string_view text, int file = -1) {
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

using Sample = ProcessMemory::Sample;

std::string_view bytes_of(const Sample& sample) {
  return {reinterpret_cast<const char*>(&sample), sizeof sample};
}

// Sets `can_read` to false if this process cannot read the neighbour's sample.
SharedHost::Neighbour take_memory(const HostGroup& group,
                                  Fd link,
                                  const Deadline& deadline,
                                  bool& can_read) {
  NeighbourMessage message = receive_message(link.get(), deadline);
  if (!message.file) {
    throw Error(ErrorCode::io,
                concat("rank ", group.rank, " cannot take the memory of a neighbour: ",
                       error_text(EMFILE), "; raise the limit (ulimit -n)"));
  }
  SharedMemory memory = SharedMemory::open(std::move(message.file));
  const std::span<std::byte> mapped = memory.bytes();
  const ProcessMemory process = ProcessMemory::behind(link.get());
  Sample sample;
  can_read = can_read && message.text.size() == sizeof sample;
  if (can_read) std::memcpy(&sample, message.text.data(), sizeof sample);
  can_read = can_read && process.can_read(sample);
  return {mapped, std::move(link), std::move(memory), process};
}

// Returns whether every rank can read the memory of all others. `can_read`: whether this one can.
bool all_can_read(std::span<const SharedHost::Neighbour> neighbours,
                  bool can_read,
                  const Deadline& deadline) {
  constexpr std::string_view kYes = "reads";
  constexpr std::string_view kNo = "does not read";
  for (const auto& neighbour : neighbours) {
    if (neighbour.link) send_message(neighbour.link.get(), can_read ? kYes : kNo);
  }
  bool all = can_read;
  for (const auto& neighbour : neighbours) {
    if (neighbour.link && receive_message(neighbour.link.get(), deadline).text != kYes) all = false;
  }
  return all;
}

}  // namespace

std::shared_ptr<SharedHost> connect_host(const HostGroup& group, Store& store) {
  const Deadline deadline(group.timeout);
  const auto own =
      std::make_shared<Arena>(SharedMemory::create("bp arena", arena_bytes(group.count)));
  const PeerGroup peers{
      .rank = group.rank,
      .first = group.first,
      .count = group.count,
      .key = group.key,
      .timeout = group.timeout,
      .keys = "shm/",
      .purpose = "share memory",
      .with = "with",
      .hint = " (in another container? then make it another host, or set BP_BACKEND=gloo)"};
  std::vector<Fd> links = connect_peers(peers, listen_unix(), store);
  allow_siblings_access();
  const std::uint64_t shown = std::random_device()();
  const Sample sample{.address = reinterpret_cast<std::uintptr_t>(&shown), .value = shown};
  for (const Fd& link : links) {
    if (link) send_message(link.get(), bytes_of(sample), own->memory().file().get());
  }
  std::vector<SharedHost::Neighbour> neighbours;
  bool can_read = true;
  for (Fd& link : links) {
    neighbours.push_back(link ? take_memory(group, std::move(link), deadline, can_read)
                              : SharedHost::Neighbour{own->memory().bytes(), Fd(), SharedMemory()});
  }
  const bool open = all_can_read(neighbours, can_read, deadline);
  return std::make_shared<SharedHost>(own, std::move(neighbours), group.first, open);
}

}  // namespace bp

#include "comm/shared/connect_host.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/system/fd.h"
#include "base/text.h"
#include "bp/error.h"
#include "comm/peers/connect_peers.h"

namespace bp {
namespace {

constexpr std::string_view kMemory = "memory";
// A neighbour that is gone has often failed, and says why in the store.
constexpr std::chrono::milliseconds kNewsOfNeighbour{500};
constexpr std::chrono::milliseconds kLookForNews{10};

// Room for one descriptor in addition to a message.
union Beside {
  cmsghdr header;
  std::array<char, CMSG_SPACE(sizeof(int))> room;
};

[[noreturn]] void cannot_reach(const char* doing, const std::string& why) {
  throw Error(ErrorCode::io, concat("cannot ", doing, " a neighbour on this host: ", why));
}

struct HostWait {
  Deadline until;
  Store& store;

  void for_news() const {
    const Deadline news(kNewsOfNeighbour);
    while (!store.job_failure() && !news.passed()) std::this_thread::sleep_for(kLookForNews);
  }
};

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
  // The messages have a few kilobytes, for which a new socket always has room.
  if (::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    cannot_reach("write to", error_text(errno));
  }
}

NeighbourMessage receive_message(int socket, std::size_t most, const HostWait& wait) {
  pollfd ask{.fd = socket, .events = POLLIN, .revents = 0};
  if (::poll(&ask, 1, static_cast<int>(wait.until.left().count())) == 0) {
    throw Error(ErrorCode::timeout,
                "cannot read from a neighbour on this host: it sent nothing in time");
  }
  NeighbourMessage received{std::string(most, '\0'), Fd()};
  iovec part{.iov_base = received.text.data(), .iov_len = received.text.size()};
  Beside beside = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.room.data();
  message.msg_controllen = beside.room.size();
  const ssize_t size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) cannot_reach("read from", error_text(errno));
  if (size == 0) {
    wait.for_news();
    cannot_reach("read from", "it is gone");
  }
  received.text.resize(static_cast<std::size_t>(size));
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int file = -1;
    std::memcpy(&file, CMSG_DATA(header), sizeof(int));
    received.file = Fd(file);
  }
  return received;
}

// How a process identifies itself to its neighbours. In another PID namespace its number may belong
// to another process, which the sample shows.
struct ShownProcess {
  pid_t number = 0;
  ProcessMemory::Sample sample;
};

// Returns the memory for the arenas of `ranks` ranks. Each begins at a huge page.
SharedMemory create_memory(int ranks) {
  std::size_t arena = arena_bytes(ranks);
  if (arena >= SharedMemory::kHugePage) arena -= arena % SharedMemory::kHugePage;
  return SharedMemory::create("bp arenas", arena * static_cast<std::size_t>(ranks));
}

SharedMemory take_memory(const HostGroup& group, const Fd& link, const HostWait& wait) {
  NeighbourMessage message = receive_message(link.get(), kMemory.size(), wait);
  if (message.file) return SharedMemory::open(std::move(message.file));
  throw Error(ErrorCode::io, concat("rank ", group.rank, " cannot take the memory of its host: ",
                                    error_text(EMFILE), "; raise the limit (ulimit -n)"));
}

// Returns what each rank of the host passes, by rank. It goes by way of the first rank.
template <class T>
std::vector<T> exchange(const HostGroup& group,
                        std::span<const Fd> links,
                        const T& own,
                        const HostWait& wait) {
  std::vector<T> all(static_cast<std::size_t>(group.count));
  all[static_cast<std::size_t>(group.rank - group.first)] = own;
  const auto text_of = [](std::span<const T> values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  };
  const auto receive = [&](const Fd& link, std::span<T> values) {
    const std::string text = receive_message(link.get(), values.size_bytes(), wait).text;
    if (text.size() != values.size_bytes()) cannot_reach("read from", "it sent something else");
    std::memcpy(values.data(), text.data(), text.size());
  };
  const std::span<T> values(all);
  if (group.rank != group.first) {
    send_message(links.front().get(), text_of({&own, 1}));
    receive(links.front(), values);
    return all;
  }
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    receive(links[rank], values.subspan(rank, 1));
  }
  for (const Fd& link : links.subspan(1)) send_message(link.get(), text_of(values));
  return all;
}

}  // namespace

std::shared_ptr<SharedHost> connect_host(const HostGroup& group, Store& store) {
  const HostWait wait{.until = Deadline(group.timeout), .store = store};
  const bool is_first = group.rank == group.first;
  const auto memory =
      std::make_shared<SharedMemory>(is_first ? create_memory(group.count) : SharedMemory());
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
  const std::vector<Fd> links = connect_peers(peers, is_first ? listen_unix() : Listening(), store);
  if (!is_first) *memory = take_memory(group, links.front(), wait);
  for (const Fd& link : links) {
    if (is_first && link) send_message(link.get(), kMemory, memory->file().get());
  }
  const int local = group.rank - group.first;
  Presence presence(*memory, local);
  allow_siblings_access();
  const std::uint64_t shown = std::random_device()();
  const ShownProcess own{
      .number = ::getpid(),
      .sample = {.address = reinterpret_cast<std::uintptr_t>(&shown), .value = shown}};
  std::vector<ProcessMemory> processes;
  bool can_read = true;
  for (const ShownProcess& each : exchange(group, links, own, wait)) {
    processes.emplace_back(each.number);
    can_read = can_read && processes.back().can_read(each.sample);
  }
  const std::vector<char> readers = exchange(group, links, can_read ? 'y' : 'n', wait);
  return std::make_shared<SharedHost>(
      SharedHost::Parts{.memory = memory,
                        .rank = local,
                        .first = group.first,
                        .presence = std::move(presence),
                        .processes = std::move(processes),
                        .open = std::ranges::count(readers, 'n') == 0});
}

}  // namespace bp

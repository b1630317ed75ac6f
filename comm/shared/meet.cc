#include "comm/shared/meet.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "bp/error.h"
#include "comm/base/deadline.h"
#include "comm/base/hex.h"
#include "comm/base/hmac.h"
#include "comm/base/text.h"
#include "comm/shared/message.h"

namespace bp {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kHello = "bp shm 1";
// Who connects and then says nothing is not one of us.
constexpr std::chrono::milliseconds kStranger{2000};
constexpr std::chrono::milliseconds kLookForFailure{100};

std::string segment_key(int rank) { return concat("shm/", rank); }

sockaddr_un address_of(std::string_view name, socklen_t& size) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // A name that begins with NUL is an abstract one.
  std::copy_n(name.data(), std::min(name.size(), sizeof(address.sun_path) - 1),
              address.sun_path + 1);
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

[[noreturn]] void cannot_use_socket(const char* doing, int error_number) {
  throw Error(ErrorCode::io,
              concat("cannot ", doing, " a socket for shared memory: ", error_text(error_number)));
}

Fd open_socket() {
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) cannot_use_socket("make", errno);
  return fd;
}

// One meeting of two ranks.
class Pair {
 public:
  Pair(const MeetOptions& options, Fd link, const Deadline& deadline)
      : options_(options), link_(std::move(link)), deadline_(deadline), mac_(options.key) {}

  // As the higher rank; throws Error.
  SharedHost::Neighbour as_higher(int lower, const SharedMemory& own) {
    const Bytes32 a = random_bytes();
    send(concat(kHello, " ", options_.rank, " ", view_of(a)));
    const std::string answer = receive().text;
    if (answer.size() != 2 * a.size()) fail_with(lower, "what it says is not understood");
    const std::string b = answer.substr(0, a.size());
    if (!equal_secrets(view_of(proof("lower", view_of(a), b, lower, options_.rank)),
                       std::string_view(answer).substr(a.size()))) {
      fail_with(lower, "it does not know the job's key");
    }
    send(std::string(view_of(proof("higher", view_of(a), b, lower, options_.rank))), &own.file());
    return neighbour(receive());
  }

  // As the lower rank: who came. Nothing where that is a stranger, who does not know the key,
  // breaks off or says nothing.
  struct Came {
    int rank;
    NeighbourMessage memory;
  };
  std::optional<Came> as_lower(const SharedMemory& own) try {
    const std::string hello = receive().text;
    const Bytes32 b = random_bytes();
    const std::size_t nonce = hello.size() - std::min(hello.size(), b.size());
    const std::string a = hello.substr(nonce);
    int higher = -1;
    for (int rank = options_.rank + 1; rank < options_.first + options_.count; ++rank) {
      if (hello.substr(0, nonce) == concat(kHello, " ", rank, " ")) higher = rank;
    }
    if (higher < 0) return std::nullopt;
    send(concat(view_of(b), view_of(proof("lower", a, view_of(b), options_.rank, higher))));
    NeighbourMessage theirs = receive();
    if (!equal_secrets(view_of(proof("higher", a, view_of(b), options_.rank, higher)),
                       theirs.text)) {
      return std::nullopt;
    }
    send("memory", &own.file());
    return Came{higher, std::move(theirs)};
  } catch (const Error&) {
    return std::nullopt;
  }

  // Whose memory this is, once it is known.
  SharedHost::Neighbour neighbour(NeighbourMessage received) {
    if (!received.file) {
      throw Error(ErrorCode::io,
                  concat("rank ", options_.rank,
                         " cannot take the memory of a neighbour: ", error_text(EMFILE)));
    }
    SharedMemory memory = SharedMemory::open(std::move(received.file));
    std::byte* const at = memory.bytes().data();
    return {at, std::move(link_), std::move(memory)};
  }

 private:
  Bytes32 proof(
      std::string_view who, std::string_view a, std::string_view b, int lower, int higher) {
    return mac_({"bp shm ", who, a, b, std::to_string(lower), " ", std::to_string(higher)});
  }
  void send(const std::string& text, const Fd* with = nullptr) {
    send_message(link_.get(), text, with == nullptr ? -1 : with->get());
  }
  NeighbourMessage receive() { return receive_message(link_.get(), deadline_); }
  [[noreturn]] void fail_with(int peer, const char* why) const {
    throw Error(ErrorCode::io,
                concat("rank ", options_.rank, " cannot share memory with rank ", peer, ": ", why));
  }

  const MeetOptions& options_;
  Fd link_;
  const Deadline deadline_;
  Hmac mac_;
};

SharedHost::Neighbour connect_to(int lower,
                                 const MeetOptions& options,
                                 const Deadline& deadline,
                                 const SharedMemory& own,
                                 Store& store) {
  const std::string name = store.get(segment_key(lower), deadline.left());
  Fd link = open_socket();
  socklen_t size = 0;
  const sockaddr_un address = address_of(name, size);
  // Never waits long: the backlog has room for all ranks of a host.
  if (::connect(link.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) {
    throw Error(ErrorCode::io, concat("rank ", options.rank, " cannot share memory with rank ",
                                      lower, ": ", error_text(errno),
                                      " (in another container? then make it another host, or set "
                                      "BP_BACKEND=gloo)"));
  }
  return Pair(options, std::move(link), deadline).as_higher(lower, own);
}

// Throws what the job has failed with, or that somebody is missing.
void wait_for_somebody(int listener,
                       const std::vector<SharedHost::Neighbour>& there,
                       const MeetOptions& options,
                       const Deadline& deadline,
                       Store& store) {
  for (;;) {
    pollfd ask{.fd = listener, .events = POLLIN, .revents = 0};
    const auto slice = std::min(deadline.left(), kLookForFailure);
    if (::poll(&ask, 1, static_cast<int>(slice.count())) > 0) return;
    if (const auto failed = store.job_failure()) throw Error(ErrorCode::aborted, failed->text);
    if (!deadline.passed()) continue;
    std::vector<int> missing;
    for (int local = options.rank - options.first + 1; local < options.count; ++local) {
      const auto index = static_cast<std::size_t>(local);
      if (there[index].memory == nullptr) missing.push_back(options.first + local);
    }
    throw Error(ErrorCode::timeout,
                concat("rank ", options.rank, " waited ", options.timeout.count(), " ms for ",
                       ranks_text(missing), " to share memory"));
  }
}

bool is_our_user(int link) {
  ucred who = {};
  socklen_t size = sizeof(who);
  return ::getsockopt(link, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.uid == ::geteuid();
}

}  // namespace

std::shared_ptr<SharedHost> meet_on_host(const MeetOptions& options, Store& store) {
  const Deadline deadline(options.timeout);
  const auto own =
      std::make_shared<Arena>(SharedMemory::create("bp arena", arena_bytes(options.count)));
  const SharedMemory& memory = own->memory();

  const Fd listener = open_socket();
  const std::string name = concat("bp-", to_hex(random_bytes()));
  socklen_t size = 0;
  const sockaddr_un address = address_of(name, size);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), options.count + 16) != 0) {
    cannot_use_socket("listen on", errno);
  }
  store.set(segment_key(options.rank), name);

  const int local = options.rank - options.first;
  std::vector<SharedHost::Neighbour> neighbours(static_cast<std::size_t>(options.count));
  neighbours[static_cast<std::size_t>(local)].memory = own->at(0);
  for (int lower = 0; lower < local; ++lower) {
    neighbours[static_cast<std::size_t>(lower)] =
        connect_to(options.first + lower, options, deadline, memory, store);
  }
  for (int awaited = options.count - local - 1; awaited > 0;) {
    wait_for_somebody(listener.get(), neighbours, options, deadline, store);
    Fd link(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!link && errno != ECONNABORTED && errno != EINTR) cannot_use_socket("accept on", errno);
    if (!link || !is_our_user(link.get())) continue;
    Pair pair(options, std::move(link), Deadline(std::min(deadline.left(), kStranger)));
    auto came = pair.as_lower(memory);
    if (!came) continue;
    auto& neighbour = neighbours[static_cast<std::size_t>(came->rank - options.first)];
    if (neighbour.memory != nullptr) continue;
    neighbour = pair.neighbour(std::move(came->memory));
    --awaited;
  }
  return std::make_shared<SharedHost>(own, std::move(neighbours), options.first);
}

}  // namespace bp

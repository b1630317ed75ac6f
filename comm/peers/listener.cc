#include "comm/peers/listener.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <asio/buffer.hpp>
#include <asio/read.hpp>

#include "base/system/socket_address.h"
#include "base/text.h"
#include "comm/peers/peer_handshake.h"

namespace bp {
namespace {

constexpr std::chrono::milliseconds kRetryAccept{100};
constexpr int kAcceptsInARow = 16;  // then connections that have data are served

// Returns false for a Unix socket whose peer is a process of another user. Other sockets do not
// tell the user.
bool may_be_of_this_user(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool known = ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  return !known || peer.pid == 0 || peer.uid == ::geteuid();
}

// Without a free descriptor accept() fails even if no connection waits.
bool has_connection(int socket) {
  pollfd waiting{socket, POLLIN, 0};
  return ::poll(&waiting, 1, 0) == 1;
}

}  // namespace

// A connection whose handshake is in progress.
class PeerListener::Unproven : public std::enable_shared_from_this<Unproven> {
 public:
  Unproven(PeerListener& listener, Fd connection)
      : listener_(&listener),
        name_(peer_name_of(connection.get())),
        socket_(listener.io_, connection.release()),
        timer_(listener.io_),
        handshake_(listener.settings_.key, listener.identity_) {}

  void start() {
    timer_.expires_after(kProveWithin);
    timer_.async_wait([self = shared_from_this()](asio::error_code cancelled) {
      if (!cancelled) self->refuse(self->silence());
    });
    read(kPeerHello, [this] { take_hello(); });
  }
  void refuse(const std::string& why) {
    if (listener_ == nullptr) return;
    close();
    std::exchange(listener_, nullptr)->settle(*this, why);
  }
  // Closes the connection without calling the listener.
  void abandon() {
    listener_ = nullptr;
    close();
  }
  [[nodiscard]] bool has_said_hello() const { return rank_ >= 0; }
  [[nodiscard]] bool has_had_time() const { return Clock::now() - since_ >= kRetryAccept; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string silence() const {
    return has_said_hello() ? "it began a handshake and did not finish it"
           : read_ > 0      ? "it did not send a whole handshake"
                            : "it said nothing";
  }

 private:
  template <class Then>
  void read(std::size_t size, Then then) {
    asio::async_read(socket_, asio::buffer(bytes_.data(), size),
                     [self = shared_from_this(), then](asio::error_code error, std::size_t got) {
                       if (self->listener_ == nullptr) return;
                       self->read_ += got;
                       error ? self->refuse(concat(self->silence(), " and closed its connection"))
                             : then();
                     });
  }
  void take_hello() {
    const auto rank = handshake_.take_hello({bytes_.data(), kPeerHello});
    const auto& settings = listener_->settings_;
    if (!rank || *rank < settings.first || *rank >= settings.first + settings.count) {
      refuse("it sent something other than the handshake of this job");
      return;
    }
    rank_ = *rank;
    if (send(handshake_.answer())) read(kPeerProof, [this] { take_proof(); });
  }
  void take_proof() {
    if (!handshake_.check_proof({bytes_.data(), kPeerProof})) {
      refuse("it does not know the job's key");
      return;
    }
    const Owner& owner = listener_->owner_;
    const bool is_needed = !owner.is_needed || owner.is_needed(rank_);
    if (!send(std::string(1, is_needed ? kPeerAccepted : kPeerNotNeeded))) return;
    timer_.cancel();
    Fd connection(socket_.release());
    std::exchange(listener_, nullptr)->settle(*this, "");
    if (is_needed) owner.on_peer(rank_, std::move(connection));
  }
  // Never blocks: the empty buffer of a new connection has room for these bytes.
  bool send(const std::string& bytes) {
    const ssize_t sent =
        ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(bytes.size())) return true;
    refuse("it has disconnected");
    return false;
  }
  void close() {
    timer_.cancel();
    asio::error_code ignored;
    socket_.close(ignored);
  }

  using Clock = std::chrono::steady_clock;

  PeerListener* listener_;  // null once the handshake has ended
  const Clock::time_point since_ = Clock::now();
  const std::string name_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  PeerHandshake handshake_;
  std::array<char, std::max(kPeerHello, kPeerProof)> bytes_{};
  std::size_t read_ = 0;
  int rank_ = -1;  // as its hello says
};

PeerListener::PeerListener(asio::io_context& io,
                           Listening own,
                           const Settings& settings,
                           Owner owner)
    : io_(io),
      settings_(settings),
      identity_(own.at.identity),
      owner_(std::move(owner)),
      socket_(io, own.socket.release()),
      timer_(io) {
  wait();
}

PeerListener::~PeerListener() {
  for (const auto& unproven : unproven_) unproven->abandon();
}

Refusals PeerListener::all_refused() {
  for (const auto& unproven : unproven_) refusals_.add(unproven->name(), unproven->silence());
  return refusals_;
}

void PeerListener::wait() {
  socket_.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code error) {
    if (!error) accept_some();
  });
}

void PeerListener::accept_some() {
  for (int accepted = 0; accepted < kAcceptsInARow; ++accepted) {
    Fd connection(
        ::accept4(socket_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!connection) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) break;
      const int why = errno;
      if (!has_connection(socket_.native_handle())) break;
      pause(error_text(why));
      return;
    }
    if (!may_be_of_this_user(connection.get())) {
      refusals_.add("this machine", "it is a process of another user");
      continue;
    }
    if (unproven_.size() >= settings_.most_unproven) {
      const auto stranger = *oldest_stranger();
      stranger->refuse(stranger->silence());
    }
    unproven_.push_back(std::make_shared<Unproven>(*this, std::move(connection)));
    unproven_.back()->start();
  }
  wait();
}

// Called when accept() fails, probably because no descriptor is left. Closes the oldest connection
// on which no valid hello has arrived, if it had enough time for one, so that a rank can have its
// descriptor. If that connection was a rank's, the rank retries, so it does not count as refused.
// All other connections stay until they have proved the key or kProveWithin is over: otherwise two
// ranks could take the last descriptor from each other forever, or a rank could lose its connection
// each time before its hello is read.
void PeerListener::pause(const std::string& why) {
  if (unproven_.empty()) {
    owner_.on_failure(why);
  } else if (const auto chosen = *oldest_stranger();
             !chosen->has_said_hello() && chosen->has_had_time()) {
    chosen->abandon();
    settle(*chosen, "");
  }
  timer_.expires_after(kRetryAccept);
  timer_.async_wait([this](asio::error_code cancelled) {
    if (!cancelled) accept_some();
  });
}

// Returns the oldest connection on which no valid hello has arrived, or else the oldest of all.
PeerListener::Position PeerListener::oldest_stranger() {
  const auto found = std::ranges::find_if(
      unproven_, [](const auto& unproven) { return !unproven->has_said_hello(); });
  return found != unproven_.end() ? found : unproven_.begin();
}

void PeerListener::settle(Unproven& unproven, const std::string& refused) {
  if (!refused.empty()) refusals_.add(unproven.name(), refused);
  unproven_.remove_if([&](const auto& each) { return each.get() == &unproven; });
}

}  // namespace bp

#include "launcher/serve/join_listener.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "bp/error.h"
#include "launcher/agent/listen.h"
#include "launcher/hosts/machine.h"
#include "launcher/protocol/timing.h"
#include "launcher/serve/say.h"

namespace bp::launcher {
namespace {

constexpr std::size_t kMostUnauthenticated = 256;
constexpr int kMostAtOnce = 64;  // so that each of them may send its hello before it is refused
constexpr auto kRetryJoins = 100ms;

Fd listen_for(const Options& options) {
  const std::string address = options.interface.empty() ? "" : interface_address(options.interface);
  try {
    return listen_at(address, *options.serve_port);
  } catch (const Error& error) {
    throw Error(error.code(), concat("--serve ", *options.serve_port, ": ", error.what()));
  }
}

}  // namespace

JoinListener::JoinListener(EventLoop& loop,
                           const Options& options,
                           const JobKey& key,
                           OnAdmitted on_admitted)
    : loop_(loop), key_(key), on_admitted_(std::move(on_admitted)), socket_(listen_for(options)) {
  loop_.watch(socket_.get(), POLLIN, [this](short) { accept_some(); });
}

JoinListener::~JoinListener() {
  loop_.forget(socket_.get());
  loop_.cancel(pause_);
}

int JoinListener::port() const { return port_of(socket_.get()); }

void JoinListener::accept_some() {
  for (int i = 0; i < kMostAtOnce; ++i) {
    Fd socket = accept_waiting(socket_.get());
    if (!socket) {
      if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) pause_accepting();
      return;
    }
    if (unauthenticated_.size() >= kMostUnauthenticated) {
      refuse(least_promising(),
             "it did not prove that it knows the key before too many others connected");
    }
    const auto connection =
        unauthenticated_.insert(unauthenticated_.end(), {peer_address_of(socket.get()), nullptr});
    connection->handshake = std::make_unique<JoinHandshake>(
        loop_, std::move(socket), key_,
        JoinHandshake::Listener{
            [this, connection](Channel::Ends ends) {
              const Connection done = std::move(*connection);
              unauthenticated_.erase(connection);
              on_admitted_(std::move(ends), done.address);
            },
            [this, connection](const std::string& why) { refuse(connection, why); }});
  }
}

// Returns the oldest of those that have said nothing yet, or else the oldest.
std::list<JoinListener::Connection>::iterator JoinListener::least_promising() {
  const auto silent = std::ranges::find_if(
      unauthenticated_, [](const Connection& each) { return !each.handshake->challenged(); });
  return silent == unauthenticated_.end() ? unauthenticated_.begin() : silent;
}

// Most likely no descriptor is left. The descriptor of an unauthenticated connection may serve a
// machine.
void JoinListener::pause_accepting() {
  if (!unauthenticated_.empty()) refuse(least_promising(), "no descriptor was left");
  loop_.set_events(socket_.get(), 0);
  pause_ = loop_.after(kRetryJoins, [this] { loop_.set_events(socket_.get(), POLLIN); });
}

// Prints the first refusal at once, as it may be of a machine with another key. Counts the others.
void JoinListener::refuse(std::list<Connection>::iterator connection, const std::string& why) {
  const Connection done = std::move(*connection);
  unauthenticated_.erase(connection);
  refusals_.add(done.address, why);
  if (refusals_.count() == 1) say(concat("refused ", done.address, ": ", why));
}

}  // namespace bp::launcher

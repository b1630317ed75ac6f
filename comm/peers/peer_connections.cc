#include "comm/peers/peer_connections.h"

#include <exception>
#include <utility>

#include <asio/post.hpp>

#include "base/system/thread.h"
#include "base/text.h"

namespace bp {
namespace {

// Connections that a listener keeps beyond the number of ranks that may connect, so that strangers
// push out strangers before they push out ranks.
constexpr std::size_t kStrangers = 64;
// How long a rank waits for a higher one to connect.
constexpr std::chrono::milliseconds kGiveWay{200};
constexpr std::chrono::milliseconds kNow{0};

}  // namespace

PeerConnections::PeerConnections(const Settings& settings, Listening own, Owner owner)
    : settings_(settings), owner_(std::move(owner)) {
  if (own.socket) {
    listener_.emplace(
        io_, std::move(own),
        PeerListener::Settings{
            .key = settings.key,
            .first = settings.first,
            .count = settings.count,
            .most_unproven = kStrangers + static_cast<std::size_t>(settings.count)},
        PeerListener::Owner{
            .is_needed =
                [this](int rank) { return rank > settings_.rank || !connectors_.contains(rank); },
            .on_peer = [this](int rank, Fd fd) { accepted(rank, std::move(fd)); },
            .on_failure = [this](const std::string& why) { owner_.on_failure(-1, why); }});
  }
  thread_ = start_thread("bp-connect", [this] { serve(); });
}

PeerConnections::~PeerConnections() {
  stop();
  for (const auto& [rank, connector] : connectors_) connector->stop();
  if (!listener_) return;
  Refusals refusals = expects_more_ ? listener_->refused() : listener_->all_refused();
  refusals.log_as(concat("rank ", settings_.rank));
}

void PeerConnections::serve() noexcept {
  try {
    io_.run();
  } catch (const std::exception& error) {  // probably no memory is left
    owner_.on_failure(-1, error.what());
  }
}

void PeerConnections::connect_to(int rank, const Endpoint& where) {
  asio::post(io_, [this, rank, where] {
    if (accepted_.contains(rank)) return;
    const auto connector = std::make_shared<PeerConnector>(
        io_, settings_.rank, settings_.key, where,
        PeerConnector::Owner{
            .on_connected = [this, rank](Fd fd) { owner_.on_connected(rank, std::move(fd)); },
            .on_failure = [this, rank](const std::string& why) { owner_.on_failure(rank, why); }});
    connectors_[rank] = connector;
    connector->start(rank < settings_.rank ? kNow : kGiveWay, settings_.answer_within);
  });
}

void PeerConnections::accepted(int rank, Fd connection) {
  accepted_.insert(rank);
  const auto own = connectors_.find(rank);
  if (own != connectors_.end()) own->second->stop_unless_begun();
  owner_.on_connected(rank, std::move(connection));
}

void PeerConnections::stop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

std::string PeerConnections::trouble(int rank) const {
  const auto connector = connectors_.find(rank);
  return connector == connectors_.end() ? "" : connector->second->trouble();
}

}  // namespace bp

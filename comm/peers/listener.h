// The listening side: accepts connections, has each peer prove the job's key (peer_handshake.h),
// and passes those connections to the owner. It reads nothing but the handshake.
//
// Strangers can hold at most `most_unproven` connections of a few hundred bytes, each for
// kProveWithin. When another connects, the listener closes the oldest connection on which no valid
// hello has arrived, or else the oldest of all. A rank that loses its connection in this way
// retries (connector.h).
//
// Threads: only the thread that runs `io`.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "base/refusals.h"
#include "base/system/fd.h"
#include "bp/environment.h"
#include "comm/peers/endpoint.h"

namespace bp {

class PeerListener {
 public:
  struct Settings {
    JobKey key{};
    int first = 0;  // ranks first .. first + count - 1 may connect
    int count = 0;
    std::size_t most_unproven = 64;
  };
  struct Owner {
    // Whether a rank that has proved the key should have its connection. None: yes.
    std::function<bool(int rank)> is_needed;
    // A rank has proved the key on this connection, which is needed.
    std::function<void(int rank, Fd connection)> on_peer;
    // The listener cannot accept a connection: no descriptor is left, and no unproven connection
    // has one. It tries again, and calls this again.
    std::function<void(const std::string& why)> on_failure;
  };
  // Accepts from the first run of `io` on. `io` must outlive the listener.
  PeerListener(asio::io_context& io, Listening own, const Settings& settings, Owner owner);
  ~PeerListener();
  PeerListener(const PeerListener&) = delete;
  PeerListener& operator=(const PeerListener&) = delete;

  // Counts the unproven connections as refused too: for when every rank has connected.
  [[nodiscard]] Refusals all_refused();
  [[nodiscard]] Refusals& refused() { return refusals_; }

  static constexpr std::chrono::milliseconds kProveWithin{5'000};

 private:
  class Unproven;
  using Position = std::list<std::shared_ptr<Unproven>>::iterator;

  void wait();
  void accept_some();
  void pause(const std::string& why);
  Position oldest_stranger();
  void settle(Unproven& unproven, const std::string& refused);

  asio::io_context& io_;
  const Settings settings_;
  const Bytes32 identity_;
  const Owner owner_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  std::list<std::shared_ptr<Unproven>> unproven_;  // oldest first
  Refusals refusals_;
};

}  // namespace bp

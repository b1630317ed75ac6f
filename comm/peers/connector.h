// The connecting side: connects to a rank's listener, and both prove the job's key
// (peer_handshake.h).
// If the connection ends before that, for example because the listener drops it in favour of
// others, the connector retries after a pause that grows.
//
// Threads: only the thread that runs `io`.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "base/system/fd.h"
#include "bp/environment.h"
#include "comm/peers/endpoint.h"
#include "comm/peers/peer_handshake.h"

namespace bp {

class PeerConnector : public std::enable_shared_from_this<PeerConnector> {
 public:
  struct Owner {
    std::function<void(Fd connection)> on_connected;
    // A retry cannot help: the address is not reachable, or the process there has another key.
    std::function<void(const std::string& why)> on_failure;
  };
  // `rank`: the rank that connects.
  PeerConnector(asio::io_context& io, int rank, const JobKey& key, const Endpoint& to, Owner owner);

  // For how long the machine that listens may be silent, and tries may fail. It does not limit the
  // handshake, since the process there may be stopped by a signal.
  using Limit = std::optional<std::chrono::milliseconds>;
  // Tries from `after` on. Calls one of the owner's functions later, once, unless stop() is called
  // before, or the listening rank needs no connection because it makes one itself.
  void start(std::chrono::milliseconds after, Limit limit);
  void stop();
  void stop_unless_begun() {
    if (!has_begun_) stop();
  }
  // Returns why the last try failed, or "" while one is in progress.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  void try_after(std::chrono::milliseconds pause);
  void try_to_connect();
  void wait_for_answer();
  void connected();
  template <class Then>
  void read(std::size_t size, Then then);
  void take_answer();
  void take_acceptance();
  bool send(const std::string& bytes);
  void try_again(const std::string& why);
  void fail(const std::string& why);

  const int rank_;
  const JobKey key_;
  const Endpoint to_;
  Owner owner_;
  asio::posix::stream_descriptor socket_;
  asio::steady_timer timer_;
  PeerHandshake handshake_;
  std::array<char, kPeerAnswer> bytes_{};
  std::chrono::milliseconds pause_{10};
  Limit limit_;
  std::chrono::steady_clock::time_point give_up_at_;  // unless there is no limit
  bool has_begun_ = false;
  bool awaits_answer_ = false;
  std::minstd_rand random_{std::random_device{}()};
  std::string trouble_;
  bool stopped_ = false;
};

}  // namespace bp

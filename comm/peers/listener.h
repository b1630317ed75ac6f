// The listening side: accepts connections, has each prove the job's key (handshake.h), and hands
// over those that did. No other byte of a connection is looked at.
//
// What strangers can hold is bounded: `most_unproven` connections of a few hundred bytes, each for
// kProveWithin at the most. Where one more comes, the oldest that has not said a word of the job
// goes, or else the oldest. A rank that loses its connection so tries again (connector.h).
//
// Threads: everything happens on the thread that runs `io`.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "base/fd.h"
#include "base/refusals.h"
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
    // A rank has proved the key on this connection, which replaces an earlier one of its own.
    std::function<void(int rank, Fd connection)> on_peer;
    // It cannot accept any more: no descriptor is left, and no stranger holds one.
    std::function<void(const std::string& why)> on_failure;
  };
  // Listens from the first turn of `io` on, which must outlive it.
  PeerListener(asio::io_context& io, Listening own, const Settings& settings, Owner owner);
  ~PeerListener();
  PeerListener(const PeerListener&) = delete;
  PeerListener& operator=(const PeerListener&) = delete;

  // With those that are still unproven, for when no rank is awaited any more.
  [[nodiscard]] Refusals all_refused();
  [[nodiscard]] Refusals& refused() { return refusals_; }

  static constexpr std::chrono::milliseconds kProveWithin{5'000};

 private:
  class Unproven;
  using Place = std::list<std::shared_ptr<Unproven>>::iterator;

  void wait();
  void accept_some();
  void pause(const std::string& why);
  Place oldest_stranger();
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

// The connections of one rank to others, each made when it is first wanted. Of two ranks the higher
// one connects. The lower one gives it some time for that, and then connects itself: the other may
// want no connection, or have ended. If both have begun, the connection of the higher one is made.
// Only connections on which both ends have proved the job's key (peer_handshake.h) are passed on.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>

#include "base/system/fd.h"
#include "bp/environment.h"
#include "comm/peers/connector.h"
#include "comm/peers/endpoint.h"
#include "comm/peers/listener.h"

namespace bp {

// Threads: any may call connect_to(). A thread of its own connects, accepts and calls the owner.
class PeerConnections {
 public:
  struct Owner {
    std::function<void(int rank, Fd connection)> on_connected;  // nonblocking
    // No connection to `rank` can be made; -1: no descriptor is left to accept any rank. It may be
    // called again.
    std::function<void(int rank, const std::string& why)> on_failure;
  };
  struct Settings {
    int rank = 0;   // this process's
    int first = 0;  // ranks first .. first + count - 1 may connect
    int count = 0;
    JobKey key{};
    PeerConnector::Limit answer_within = {};  // the machine of a peer; none: any time
  };
  // Accepts from now on, unless `own` has no socket. Throws asio::system_error, and io if no thread
  // can be started.
  PeerConnections(const Settings& settings, Listening own, Owner owner);
  // Logs the connections that it refused in one line.
  ~PeerConnections();
  PeerConnections(const PeerConnections&) = delete;
  PeerConnections& operator=(const PeerConnections&) = delete;

  // Must be called at most once for each rank.
  void connect_to(int rank, const Endpoint& where);
  // Ends the thread: the owner is not called any more.
  void stop();
  // Returns why the last try to connect to `rank` failed, or "". Call it after stop().
  [[nodiscard]] std::string trouble(int rank) const;
  // Every rank has connected, so connections that have proved nothing yet count as refused too.
  void expect_no_more() { expects_more_ = false; }

 private:
  void serve() noexcept;
  void accepted(int rank, Fd connection);

  const Settings settings_;
  const Owner owner_;
  bool expects_more_ = true;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::optional<PeerListener> listener_;
  // thread_ uses these until it is joined.
  std::map<int, std::shared_ptr<PeerConnector>> connectors_;
  std::set<int> accepted_;  // ranks
  std::thread thread_;
};

}  // namespace bp

// The store's server. Each job has one. bprun runs it, so that the end of a rank does not break it;
// under another launcher rank 0 runs it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/system/loopback.h"
#include "bp/environment.h"
#include "bp/store.h"

namespace bp {

struct StoreServerOptions {
  std::string bind_address = loopback_address();  // numeric: names are not resolved
  int port = 0;                                   // 0: any free port
  std::string job;
  JobKey key{};
  int world_size = 1;
  // How long a connection may take to prove that it knows the key.
  std::chrono::milliseconds handshake_timeout{5'000};
  // A rank from which nothing has arrived for this long is reported as silent. Each rank sends five
  // heartbeats in that time, whatever its program does. Time in which this process was stopped does
  // not count.
  std::chrono::milliseconds silence_limit{10'000};
  // Whether the ranks that survive a failure may call join_survivors() and continue. If not, the
  // job ends with its first failure.
  bool survivors_go_on = false;
};

// What a rank did, for the owner of the server. Observers (rank -1) cause only failed, with any
// cause, and stop_requested.
struct StoreEvent {
  enum class Kind : std::uint8_t {
    joined,          // authenticated
    goodbye,         // finished; its connection may close
    lost,            // its connection closed without goodbye; failure says how
    failed,          // declared the job failed; failure.cause is the rank itself, or -1
    consequence,     // reported that it ends because of rank failure.cause
    stop_requested,  // asked all ranks to save and stop
    silent,          // sent no heartbeat for silence_limit
    back,            // sent one after it was silent
  };
  Kind kind = Kind::joined;
  int rank = -1;
  JobFailure failure;
};

// Listens from its construction on and serves clients on its own thread. If a rank is lost, the job
// fails for all clients at once. A rank that said goodbye may connect again. Thread-safe.
class StoreServer {
 public:
  // `listener` runs on the server's thread and must not block. Throws io, with address and port, if
  // it cannot listen there.
  StoreServer(const StoreServerOptions& options, std::function<void(const StoreEvent&)> listener);
  // Writes what is queued for the clients, for at most half a second, and closes every connection.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  [[nodiscard]] StoreAddress address() const;  // with the port that was chosen
  // Pushes the failure to every client. Ignored if the job has failed before, unless survivors may
  // continue.
  void fail_job(const JobFailure& failure);
  void request_stop();  // pushes the request to every client, once
  // Returns the keys that begin with `prefix`, with their values. Waits up to half a second for the
  // server's thread; returns nothing if that does not answer.
  [[nodiscard]] std::map<std::string, std::string> values(const std::string& prefix);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp

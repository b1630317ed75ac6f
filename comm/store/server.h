// The store's server. The launcher owns one per job, so no rank's exit breaks it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "bp/environment.h"
#include "bp/store.h"

namespace bp {

struct StoreServerOptions {
  std::string bind_address = "127.0.0.1";  // numeric: no name service is asked
  int port = 0;                            // 0: any free one
  std::string job;
  JobKey key{};
  int world_size = 1;
  // How long a connection may take to prove that it knows the key.
  std::chrono::milliseconds handshake_timeout{5'000};
  // After this long without a sign of life a rank is told to be silent; each gives five in that
  // time, whatever its program does. Time in which this process was itself stopped does not count.
  std::chrono::milliseconds silence_limit{10'000};
  // After a failure, which all are told, they may join_survivors() and go on; else the first
  // failure is the job's end.
  bool survivors_go_on = false;
};

// Something a rank did, for whoever owns the server. Of observers (rank -1) only failed, with any
// cause, and stop_requested are told.
struct StoreEvent {
  enum class Kind : std::uint8_t {
    joined,          // authenticated
    goodbye,         // done; its connection may close
    lost,            // its connection closed without goodbye; failure says how
    failed,          // declared the job failed: failure.cause is itself, or -1
    consequence,     // said that it ends because of rank failure.cause
    stop_requested,  // asked all to save and stop
    silent,          // has given no sign of life for silence_limit
    back,            // has given one after all
  };
  Kind kind = Kind::joined;
  int rank = -1;
  JobFailure failure;
};

// Listens from construction on (throws io naming address and port when it is taken) on a thread of
// its own. A lost rank fails the job for all clients at once; a rank that said goodbye may come
// back. Thread-safe.
class StoreServer {
 public:
  // `listener` runs on the server's thread and must not block.
  StoreServer(const StoreServerOptions& options, std::function<void(const StoreEvent&)> listener);
  // Closes every connection once what was pushed to it is written, within half a second.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  [[nodiscard]] StoreAddress address() const;  // with the real port
  void fail_job(const JobFailure& failure);    // pushed to every client; the first one is kept
  void request_stop();                         // likewise
  // The keys that begin with `prefix`, and what they hold now. Waits a moment for the server's
  // thread; nothing where that is stuck.
  [[nodiscard]] std::map<std::string, std::string> values(const std::string& prefix);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bp

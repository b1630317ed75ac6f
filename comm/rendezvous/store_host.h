// The store of a job that bprun did not start. Rank 0 runs it in its own process.
//
// Threads: the server's thread calls note(); one other thread calls wait_until_left().
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

#include "comm/store/server.h"

namespace bp {

class StoreHost {
 public:
  explicit StoreHost(const StoreServerOptions& options);

  [[nodiscard]] StoreAddress address() const { return server_->address(); }
  // Blocks until no rank is connected any more, because each has said goodbye or is lost. Returns
  // false if one still is after `at_most`.
  [[nodiscard]] bool wait_until_left(std::chrono::milliseconds at_most);

 private:
  void note(const StoreEvent& event);

  std::mutex mutex_;
  std::condition_variable left_;
  std::set<int> connected_;              // ranks; guarded by mutex_
  std::unique_ptr<StoreServer> server_;  // last, because its thread uses the members above
};

}  // namespace bp

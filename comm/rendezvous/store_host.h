// The store of a job that no launcher of ours serves: rank 0 does, beside its work.
//
// Threads: the server's own tells who comes and goes; one other waits.
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
  // Until no rank is connected any more: each has said goodbye or is lost. False where one still
  // is.
  [[nodiscard]] bool wait_until_left(std::chrono::milliseconds at_most);

 private:
  void note(const StoreEvent& event);

  std::mutex mutex_;
  std::condition_variable left_;
  std::set<int> here_;                   // guarded by mutex_
  std::unique_ptr<StoreServer> server_;  // its thread uses what is above
};

}  // namespace bp

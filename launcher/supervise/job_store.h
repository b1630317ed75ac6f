// The store of one generation, as bprun uses it: it reports what ranks do, and reads what they
// leave in it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/system/fd.h"
#include "comm/store/server.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

// Threads: the store's server has a thread, which calls push(). The loop's thread calls everything
// else, and `on_event` runs on it.
class JobStore {
 public:
  // Listens from here on. `loop` must outlive it. Throws invalid_argument if the port of
  // --store-port is taken, naming the process that holds it.
  JobStore(EventLoop& loop,
           const StoreServerOptions& options,
           std::function<void(const StoreEvent&)> on_event);
  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  [[nodiscard]] int port() const { return server_->address().port; }
  void fail(const JobFailure& failure) { server_->fail_job(failure); }  // notifies all ranks
  void request_stop() { server_->request_stop(); }                      // notifies all ranks

  // By key (liveness_check.h), the last sign that each host has left here.
  [[nodiscard]] std::map<std::string, std::string> signs_of_hosts() const;
  // The arguments with which the program says that it resumes; empty if it has not said so.
  [[nodiscard]] std::string resume_arguments() const;
  // By rank, the collective in flight when it broke or took long.
  [[nodiscard]] std::map<int, std::string> collectives_in_flight() const;

 private:
  void push(const StoreEvent& event);
  void deliver();

  EventLoop& loop_;
  std::function<void(const StoreEvent&)> on_event_;
  Fd wake_;
  std::mutex mutex_;
  std::vector<StoreEvent> pending_;      // guarded by mutex_
  std::unique_ptr<StoreServer> server_;  // last, because its thread uses the members above
};

}  // namespace bp::launcher

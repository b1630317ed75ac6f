// Brings the events of the store's server from the server's thread to bprun's event loop.
//
// Threads: the server's thread calls push(). The loop's thread calls everything else, and `handler`
// runs on it.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "base/fd.h"
#include "comm/store/server.h"
#include "launcher/process/event_loop.h"

namespace bp::launcher {

class StoreEvents {
 public:
  StoreEvents(EventLoop& loop, std::function<void(const StoreEvent&)> handler);
  ~StoreEvents();
  StoreEvents(const StoreEvents&) = delete;
  StoreEvents& operator=(const StoreEvents&) = delete;

  void push(const StoreEvent& event);

 private:
  void deliver();

  EventLoop& loop_;
  std::function<void(const StoreEvent&)> handler_;
  Fd wake_;
  std::mutex mutex_;
  std::vector<StoreEvent> pending_;
};

}  // namespace bp::launcher

// Brings what the store's server tells, on its thread, to the launcher's event loop.
//
// Threads: push() from the server's thread, everything else from the loop's.
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
  std::vector<StoreEvent> waiting_;
};

}  // namespace bp::launcher

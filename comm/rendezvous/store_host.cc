#include "comm/rendezvous/store_host.h"

#include "base/pausable_timeout.h"

namespace bp {

StoreHost::StoreHost(const StoreServerOptions& options)
    : server_(std::make_unique<StoreServer>(options,
                                            [this](const StoreEvent& event) { note(event); })) {}

void StoreHost::note(const StoreEvent& event) {
  using Kind = StoreEvent::Kind;
  const std::lock_guard lock(mutex_);
  if (event.kind == Kind::joined) connected_.insert(event.rank);
  if (event.kind == Kind::goodbye || event.kind == Kind::lost) connected_.erase(event.rank);
  left_.notify_all();
}

bool StoreHost::wait_until_left(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  return wait_with_timeout(left_, lock, PausableTimeout(at_most),
                           [this] { return connected_.empty(); });
}

}  // namespace bp

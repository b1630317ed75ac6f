#include "launcher/supervise/store_events.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "base/text.h"
#include "bp/error.h"

namespace bp::launcher {

StoreEvents::StoreEvents(EventLoop& loop, std::function<void(const StoreEvent&)> handler)
    : loop_(loop), handler_(std::move(handler)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) {
    throw Error(ErrorCode::io, concat("eventfd failed: ", error_text(errno)));
  }
  loop_.watch(wake_.get(), POLLIN, [this](short) { deliver(); });
}

StoreEvents::~StoreEvents() { loop_.forget(wake_.get()); }

void StoreEvents::push(const StoreEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    pending_.push_back(event);
  }
  ::eventfd_write(wake_.get(), 1);
}

void StoreEvents::deliver() {
  eventfd_t count = 0;
  ::eventfd_read(wake_.get(), &count);
  std::vector<StoreEvent> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(pending_);
  }
  for (const StoreEvent& event : events) {
    handler_(event);
  }
}

}  // namespace bp::launcher

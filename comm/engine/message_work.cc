#include "comm/engine/message_work.h"

#include "comm/engine/messages.h"

namespace bp {

bool MessageWork::done() {
  {
    const std::lock_guard lock(core->mutex);
    if (phase == Phase::done) return true;
  }
  return core->owner->is_done(*this);
}

bool MessageWork::wait(std::optional<std::chrono::milliseconds> timeout) {
  {
    const std::lock_guard lock(core->mutex);
    if (phase == Phase::done) {
      if (error) std::rethrow_exception(error);
      return true;
    }
  }
  return core->owner->wait(*this, timeout);
}

}  // namespace bp

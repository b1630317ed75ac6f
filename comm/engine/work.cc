#include <utility>

#include "comm/base/check.h"
#include "comm/engine/work_state.h"

namespace bp {

Work::Work() = default;
Work::Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
Work::Work(Work&&) noexcept = default;
Work& Work::operator=(Work&& other) noexcept {
  Work old(std::move(*this));  // waits for what this one stood for
  state_ = std::move(other.state_);
  return *this;
}

Work::~Work() {
  if (!state_) return;
  std::unique_lock lock(state_->mutex);
  // Bounded: each operation in front of it, and it, ends at its own deadline.
  state_->changed.wait(lock, [&] { return state_->done; });
}

bool Work::done() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

void Work::wait() {
  if (!state_) return;
  std::unique_lock lock(state_->mutex);
  // Bounded: see ~Work.
  state_->changed.wait(lock, [&] { return state_->done; });
  if (state_->error) std::rethrow_exception(state_->error);
}

bool Work::wait_for(std::chrono::milliseconds timeout) {
  if (!state_) return true;
  std::unique_lock lock(state_->mutex);
  if (!state_->changed.wait_for(lock, timeout, [&] { return state_->done; })) return false;
  if (state_->error) std::rethrow_exception(state_->error);
  return true;
}

}  // namespace bp

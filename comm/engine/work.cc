#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include "base/deadline.h"
#include "comm/engine/work_state.h"

namespace bp {

Work::Work() = default;
Work::Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
Work::Work(Work&&) noexcept = default;
Work& Work::operator=(Work&& other) noexcept {
  Work old(std::move(*this));  // its destructor waits for the operation of this one
  state_ = std::move(other.state_);
  return *this;
}

Work::~Work() {
  if (!state_) return;
  try {
    state_->wait({});
  } catch (const std::exception&) {  // the next call on the communicator throws it
  }
}

bool Work::done() const { return !state_ || state_->done(); }

void Work::wait() {
  if (state_) state_->wait({});
}

void Work::wait(void* stream) {
  if (const auto state = std::exchange(state_, nullptr)) state->delay(stream);
}

bool Work::wait_for(std::chrono::milliseconds timeout) {
  return !state_ || state_->wait(bounded(std::max(timeout, std::chrono::milliseconds(0))));
}

}  // namespace bp

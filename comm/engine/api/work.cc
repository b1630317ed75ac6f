#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

#include "base/deadline.h"
#include "base/system/forked.h"
#include "comm/engine/observe/work_state.h"

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
  if (!state_->process.is_here()) {
    keep_undestroyed(std::move(state_));
    return;
  }
  try {
    state_->wait({});
  } catch (const std::exception&) {  // the next call on the communicator throws it
  }
}

Work::State* Work::state(std::string_view called) const {
  if (state_) state_->process.refuse_elsewhere(called, "operation");
  return state_.get();
}

bool Work::done() const {
  State* const one = state("done");
  return one == nullptr || one->done();
}

void Work::wait() {
  if (State* const one = state("wait")) one->wait({});
}

void Work::wait(void* stream) {
  static_cast<void>(state("wait"));
  if (const auto one = std::exchange(state_, nullptr)) one->delay(stream);
}

bool Work::wait_for(std::chrono::milliseconds timeout) {
  State* const one = state("wait_for");
  return one == nullptr || one->wait(bounded(std::max(timeout, std::chrono::milliseconds(0))));
}

}  // namespace bp

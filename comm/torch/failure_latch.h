// Remembers that an action has failed in the middle. It leaves this rank's window, or the
// communicator, in a state from which no right result can be computed, so every later call is
// refused.
#pragma once

#include <ATen/core/grad_mode.h>

#include <exception>
#include <string>
#include <utility>

#include "base/text.h"
#include "bp/error.h"

namespace bp {

class FailureLatch {
 public:
  [[nodiscard]] bool is_usable() const { return why_.empty(); }
  // Throws `aborted` after a failure.
  void require_usable() const {
    if (!why_.empty()) {
      throw Error(ErrorCode::aborted,
                  concat("DistributedOptimizer: unusable since an earlier call failed: ", why_));
    }
  }
  // The failed call has left nothing behind.
  void forgive() { why_.clear(); }
  void set(std::string why) { why_ = std::move(why); }
  // Runs `action` without autograd. What it throws is a failure.
  template <class Action>
  void run(Action action) {
    const at::NoGradGuard no_grad;
    try {
      action();
    } catch (const std::exception& error) {
      why_ = error.what();
      throw;
    }
  }

 private:
  std::string why_;  // empty: no action has failed
};

// A flag that is set for a scope.
class ScopedFlag {
 public:
  explicit ScopedFlag(bool& flag) : flag_(flag) { flag_ = true; }
  ScopedFlag(const ScopedFlag&) = delete;
  ScopedFlag& operator=(const ScopedFlag&) = delete;
  ~ScopedFlag() { flag_ = false; }

 private:
  bool& flag_;
};

}  // namespace bp

// The end of a communicator: fails once, stays failed, and everyone who waits learns of it.
//
// Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/deadline.h"
#include "bp/error.h"

namespace bp {

class Failure {
 public:
  // The first one is kept, and makes `listener` be called. Returns what is kept.
  Error set(const Error& error);
  // Must be set before others know of this object, and must not set a failure.
  void on_set(std::function<void()> listener) { listener_ = std::move(listener); }
  [[nodiscard]] std::optional<Error> get() const;
  // What get() gives once there is something, or nothing at the deadline.
  [[nodiscard]] std::optional<Error> wait(const Deadline& deadline) const;
  // Set, by a release store that pairs with the waiters' acquire loads, after the error is.
  [[nodiscard]] const std::atomic<bool>& flag() const { return flag_; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Error> first_;
  std::function<void()> listener_;
  std::atomic<bool> flag_{false};
};

// Through the store a failure travels as text: "mismatch: ranks disagree ...".
[[nodiscard]] std::string to_text(const Error& error);
// The way back; text without a code is of somebody who is no communicator, the launcher for
// instance, and speaks of a lost rank where `cause` is one.
[[nodiscard]] Error error_of(int cause, const std::string& text);

}  // namespace bp

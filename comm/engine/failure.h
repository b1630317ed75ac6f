// The end of a communicator: fails once, stays failed, and everyone who waits learns of it.
//
// Threads: any.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "bp/error.h"
#include "comm/base/deadline.h"

namespace bp {

class Failure {
 public:
  // The first one is kept. Returns what is kept.
  Error set(const Error& error);
  [[nodiscard]] std::optional<Error> get() const;
  // What get() gives once there is something, or nothing at the deadline.
  [[nodiscard]] std::optional<Error> wait(const Deadline& deadline) const;
  // Set, by a release store that pairs with the waiters' acquire loads, after the error is.
  [[nodiscard]] const std::atomic<bool>& flag() const { return flag_; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Error> first_;
  std::atomic<bool> flag_{false};
};

// Through the store a failure travels as text: "mismatch: ranks disagree ...".
[[nodiscard]] std::string to_text(const Error& error);
// The way back; text without a code is of somebody who is no communicator, the launcher for
// instance, and speaks of a lost rank where `cause` is one.
[[nodiscard]] Error error_of(int cause, const std::string& text);

}  // namespace bp

// The failure of a communicator. It fails once and stays failed, and every thread that waits learns
// of it.
//
// Threads: any.
#pragma once

#include <atomic>
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
  // Keeps the first error, and then calls the listener. Returns the error that is kept.
  Error set(const Error& error);
  // Sets the listener, before any other thread knows this object. The listener must not call set().
  void on_set(std::function<void()> listener) { listener_ = std::move(listener); }
  [[nodiscard]] std::optional<Error> get() const;
  // Waits for an error until the deadline, and returns what get() returns then.
  [[nodiscard]] std::optional<Error> wait(const Deadline& deadline) const;
  // Set after the error, by a release store that pairs with the acquire loads of threads that wait.
  [[nodiscard]] const std::atomic<bool>& flag() const { return flag_; }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Error> first_;
  std::function<void()> listener_;
  std::atomic<bool> flag_{false};
};

// Returns the text as which a failure travels through the store: "mismatch: ranks disagree ...".
[[nodiscard]] std::string to_text(const Error& error);
// The inverse. Text without a code comes from a process that is not a communicator, such as the
// launcher; it reports a lost rank if `cause` is a rank, and -1 means none.
[[nodiscard]] Error error_of(int cause, const std::string& text);

}  // namespace bp

// Keeps signals away from a thread for a while.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace bp {

[[nodiscard]] inline sigset_t all_signals() {
  sigset_t all;
  ::sigfillset(&all);
  return all;
}

// Blocks signals in the thread that makes it, while it exists. Threads and processes that this
// thread starts meanwhile inherit this.
class SignalsBlocked {
 public:
  explicit SignalsBlocked(const sigset_t& which = all_signals()) {
    ::pthread_sigmask(SIG_BLOCK, &which, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace bp

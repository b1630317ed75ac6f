// The names of signals, and a descriptor that delivers signals to an event loop.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/system/fd.h"

namespace bp::launcher {

// Returns "SIGSEGV" for 11, and "signal 63" for a number that has no name.
[[nodiscard]] std::string signal_name(int number);

// Returns which of SIGHUP, SIGINT, SIGQUIT and SIGTERM this process ignores. A shell or nohup may
// start a command that way.
[[nodiscard]] std::vector<int> ignored_signals();

// Blocks `signals` in this thread and delivers them through a descriptor instead; construct it
// before any other thread starts. A signal that this process ignores stays ignored, because its
// parent wanted that (nohup, or `&` in a script). SIGCHLD is the exception: if it were ignored,
// bprun could not wait for its children. The signals stay blocked after the destructor, so that a
// late signal does not interrupt the program's end. spawn() gives children an empty mask.
class SignalFd {
 public:
  SignalFd(std::initializer_list<int> signals);
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::vector<int> read();  // returns the signals that have arrived; does not block

 private:
  Fd fd_;
};

// Makes a write to a pipe without a reader fail with EPIPE instead of ending this process.
void ignore_broken_pipes();

}  // namespace bp::launcher

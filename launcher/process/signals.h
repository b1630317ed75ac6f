// Signals as data: names, and a descriptor that delivers them to an event loop.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "base/fd.h"

namespace bp::launcher {

// "SIGSEGV" for 11; "signal 63" where it has no name.
[[nodiscard]] std::string signal_name(int number);

// The signals that a shell or nohup may have a command ignore (SIGHUP, SIGINT, SIGQUIT, SIGTERM),
// as far as this process ignores them.
[[nodiscard]] std::vector<int> ignored_signals();

// Blocks `signals` in this thread (so construct it before any other thread starts) and delivers
// them through a descriptor instead. A signal that this process ignores stays ignored: whoever
// started it wants that (nohup; `&` in a script). SIGCHLD alone is taken from whoever ignored it,
// as children could not be waited for. They stay blocked after its end: a signal that comes while
// the program is leaving must not cut that short. Children get an empty mask from spawn().
class SignalFd {
 public:
  SignalFd(std::initializer_list<int> signals);
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] std::vector<int> read();  // those that came; does not wait

 private:
  Fd fd_;
};

// Writing to a pipe that nobody reads any more becomes EPIPE.
void ignore_broken_pipes();

}  // namespace bp::launcher

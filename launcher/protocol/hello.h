// What an agent says about its host and itself.
#pragma once

#include <string>

#include "base/fd.h"
#include "launcher/protocol/messages.h"

namespace bp::launcher {

[[nodiscard]] std::string own_version();  // "0.1.0"
[[nodiscard]] std::string own_build();    // the linker's build id, in hex; "unknown" without one
[[nodiscard]] std::string own_host_name();
[[nodiscard]] int usable_cores();  // by affinity
[[nodiscard]] Hello make_hello(int free_port);

// A TCP port that nobody else is given until release().
class HeldPort {
 public:
  HeldPort();
  [[nodiscard]] int number() const { return number_; }
  void release() { socket_.reset(); }

 private:
  Fd socket_;
  int number_ = 0;  // 0 where there is none to be had
};

}  // namespace bp::launcher

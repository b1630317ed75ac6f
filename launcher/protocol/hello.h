// An agent's hello describes its host and itself.
#pragma once

#include <string>

#include "base/system/fd.h"
#include "launcher/protocol/agent_messages.h"

namespace bp::launcher {

[[nodiscard]] std::string own_version();  // "0.1.0"
[[nodiscard]] std::string own_build();  // the linker's build id, in hex; "unknown" if there is none
[[nodiscard]] std::string own_host_name();
[[nodiscard]] Hello make_hello(int free_port);

// A TCP port that the system gives to no other process until release().
class HeldPort {
 public:
  HeldPort();
  [[nodiscard]] int number() const { return number_; }
  void release() { socket_.reset(); }

 private:
  Fd socket_;
  int number_ = 0;  // 0 if no port is available
};

}  // namespace bp::launcher

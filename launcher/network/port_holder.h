// Finds the process that listens on a TCP port of this machine.
#pragma once

#include <string>

namespace bp::launcher {

// Returns "pid 4711 (ada, sshd)", or "a process of another user"; empty if no process listens.
[[nodiscard]] std::string port_holder(int port);

}  // namespace bp::launcher

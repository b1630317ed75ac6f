// Who listens on a TCP port of this machine.
#pragma once

#include <string>

namespace bp::launcher {

// "pid 4711 (ada, sshd)", "a process of another user", or nothing where nobody listens.
[[nodiscard]] std::string port_holder(int port);

}  // namespace bp::launcher

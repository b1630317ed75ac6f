// Whose a process is, for messages.
#pragma once

#include <string>

namespace bp::launcher {

struct ProcessOwner {
  std::string user;     // by name, or the number; empty where the process cannot be seen
  std::string program;  // as ps shows it
};

[[nodiscard]] ProcessOwner owner_of(int pid);

}  // namespace bp::launcher

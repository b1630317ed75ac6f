// The user and the program of a process, for messages.
#pragma once

#include <string>

namespace bp::launcher {

struct ProcessOwner {
  // the name, or "user N" if the number has no name; empty if the process cannot be seen
  std::string user;
  std::string program;  // the short name that ps shows
};

[[nodiscard]] ProcessOwner owner_of(int pid);

}  // namespace bp::launcher

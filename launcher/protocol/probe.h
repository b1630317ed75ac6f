// What a host is asked to try, and what it found.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

struct ProbePeer {
  int host = 0;
  int port = 0;
  std::vector<std::string> addresses;
};

// By peer and address why it was not reached; empty where it was.
using ProbeProblems = std::vector<std::vector<std::string>>;

}  // namespace bp::launcher

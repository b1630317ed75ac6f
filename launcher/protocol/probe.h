// The network probe asks a host to try addresses of others, and the host reports its findings.
#pragma once

#include <string>
#include <vector>

namespace bp::launcher {

struct ProbePeer {
  int host = 0;
  int port = 0;
  std::vector<std::string> addresses;
};

// By peer and address, why that address could not be reached; empty if it was reached.
using ProbeProblems = std::vector<std::vector<std::string>>;

}  // namespace bp::launcher

// Which address of each host the others can reach, from what they found out. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/address.h"
#include "launcher/protocol/probe.h"
#include "launcher/report/failure.h"

namespace bp::launcher {

struct ProbedHost {
  std::string name;
  std::string machine;                      // hosts of one machine need no network between them
  std::vector<InterfaceAddress> addresses;  // that were tried
  bool asks = true;  // false for the launcher where no host runs beside it: it is only reached
};

// What each host found: problems[from][to][address]; empty where `from` and `to` are one machine.
using ProbeMatrix = std::vector<ProbeProblems>;

struct Reach {
  // By host, the first of its addresses that all others reach; empty where no other needs one.
  std::vector<std::string> addresses;
  std::optional<Failure> failure;  // where a host has none: the whole matrix, and what mends it
};

[[nodiscard]] Reach choose_addresses(const std::vector<ProbedHost>& hosts,
                                     const ProbeMatrix& problems);

// "from \ to" and a line a host, for hosts that do not all reach each other.
[[nodiscard]] std::vector<std::string> matrix_text(const std::vector<ProbedHost>& hosts,
                                                   const ProbeMatrix& problems);

}  // namespace bp::launcher

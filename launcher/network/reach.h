// Chooses an address of each host that all others can reach, from the results of the probe. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/address.h"
#include "launcher/protocol/probe.h"
#include "launcher/report/failure_report.h"

namespace bp::launcher {

struct ProbedHost {
  std::string name;
  std::string machine;                      // hosts on one machine need no network between them
  std::vector<InterfaceAddress> addresses;  // the addresses that were tried
  // False for the launcher if no host runs on its machine: the others only have to reach it.
  bool asks = true;
};

// What each host found: problems[from][to][address]; empty if `from` and `to` are one machine.
using ProbeMatrix = std::vector<ProbeProblems>;

struct Reach {
  // By host, the first of its addresses that all others reach; empty if no other host needs one.
  std::vector<std::string> addresses;
  std::optional<Failure> failure;  // set if a host has no such address: the whole matrix and a hint
};

[[nodiscard]] Reach choose_addresses(const std::vector<ProbedHost>& hosts,
                                     const ProbeMatrix& problems);

// Returns a header "from \ to" and one line per host; empty for more than 16 hosts.
[[nodiscard]] std::vector<std::string> matrix_text(const std::vector<ProbedHost>& hosts,
                                                   const ProbeMatrix& problems);

}  // namespace bp::launcher

// --include and --exclude: select some of the hosts, or some of their slots.
#pragma once

#include <optional>
#include <string>

#include "launcher/hosts/host.h"

namespace bp::launcher {

struct HostSelection {  // at most one of them is set
  std::optional<std::string> include;
  std::optional<std::string> exclude;
};

// The syntax is "a,gpu[01-04]:0,2-3,b:1". A host has all its slots, or those that follow its colon
// up to the next word that is not a number. '@' may separate hosts as well as ','. Slots that are
// named twice count once. A host that is named both with and without slots counts as a whole.
//
// Slots are numbered from 0, or by GPU if the host lists one GPU per slot. Hosts and slots keep
// their order. A host that is only partly selected gets that number of slots, no max_slots, and the
// numbers of those slots as its GPUs.
//
// Throws invalid_argument if a host or slot does not exist, naming the nearest name or those that
// exist, and if no host is left.
[[nodiscard]] Hosts select_hosts(Hosts hosts, const HostSelection& selection);

}  // namespace bp::launcher

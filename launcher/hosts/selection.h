// --include and --exclude: some of the hosts, or of their slots.
#pragma once

#include <optional>
#include <string>

#include "launcher/hosts/host.h"

namespace bp::launcher {

struct Selection {  // at most one of them
  std::optional<std::string> include;
  std::optional<std::string> exclude;
};

// "a,gpu[01-04]:0,2-3,b:1": hosts, each with all its slots or with those that follow its colon, up
// to the next word that is no number. Between hosts there may be '@' as well. What is named twice
// counts once; a host that is named with and without slots is meant as a whole.
//
// A host's slots are numbered from 0, or as its GPUs where it has a list of them with one for each
// slot. Hosts keep their order, and slots too. A host of which only some are left has so many slots
// and no more, and their numbers are its GPUs.
//
// Throws invalid_argument for a host or a slot that is not there, naming the nearest or those that
// are, and where nothing is left.
[[nodiscard]] Hosts select_hosts(Hosts hosts, const Selection& selection);

}  // namespace bp::launcher

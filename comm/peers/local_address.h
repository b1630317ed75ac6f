// Chooses the address on which this process listens.
#pragma once

#include <string>

#include "base/deadline.h"
#include "bp/environment.h"

namespace bp {

struct ListenOn {
  std::string interface = {};  // the name of an interface, "eth0"; or
  std::string address = {};    // a numeric address; one of the two is set
};

// `wanted` is the name of an interface, or an address or host name of this machine. If it is empty,
// returns the address from which this machine reaches `store`, because a host that reaches the
// store probably reaches that too (it is loopback if the store is on loopback). Blocks until
// `deadline` to look up names. Throws invalid_argument with a list of the interfaces if `wanted` is
// none of these, and io if no address reaches the store.
[[nodiscard]] ListenOn listen_on(const std::string& wanted,
                                 const StoreAddress& store,
                                 const Deadline& deadline);

}  // namespace bp

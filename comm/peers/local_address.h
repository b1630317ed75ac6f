// Where to listen.
#pragma once

#include <string>

#include "base/deadline.h"
#include "bp/environment.h"

namespace bp {

struct ListenOn {
  std::string interface;  // by name, "eth0"; or
  std::string address;    // by address; one of the two is set
};

// `wanted`: the name of an interface, or an address or host name of this machine. Empty: the
// address from which this machine reaches `store`, so that who can reach the store can reach us
// (loopback where the store is on loopback). Throws invalid_argument, listing the interfaces, or
// io. Names are looked up until `deadline`.
[[nodiscard]] ListenOn listen_on(const std::string& wanted,
                                 const StoreAddress& store,
                                 const Deadline& deadline);

}  // namespace bp

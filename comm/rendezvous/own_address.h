// Finds the address at which other hosts reach this one, without asking any of them.
#pragma once

#include <string>

#include "base/deadline.h"

namespace bp {

// Returns a numeric address: that of the interface or address `wanted`, if it is not empty; else
// the one from which this host reaches `towards`, a name or an address, if that is not empty; else
// the first that is neither loopback nor link-local. Blocks until `deadline` to look up names.
// Throws invalid_argument or io, with the variable to set.
[[nodiscard]] std::string own_address(const std::string& wanted,
                                      const std::string& towards,
                                      const Deadline& deadline);

}  // namespace bp

// The address under which other hosts reach this one, without asking any of them.
#pragma once

#include <string>

#include "base/deadline.h"

namespace bp {

// Numeric. Of the interface or address `wanted`; else the one that routes to `towards`, a name or
// address; else the first that is not loopback. `towards` may be empty. Throws invalid_argument or
// io, saying what to set.
[[nodiscard]] std::string own_address(const std::string& wanted,
                                      const std::string& towards,
                                      const Deadline& deadline);

}  // namespace bp

// The caches of the machine.
#pragma once

#include <cstddef>

namespace bp {

// Returns the bytes that `ranks` processes on different cores find room for in the last caches
// before memory. A machine may have several of these, each for some of the cores; every rank then
// has one to itself until there are no more. Read once, from the kernel.
[[nodiscard]] std::size_t last_caches_bytes(int ranks);

}  // namespace bp

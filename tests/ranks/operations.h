// Checks of the rooted operations, the exchanges and the messages with exact results, for ranks
// that are threads or processes. Each check returns "", or the first difference.
#pragma once

#include <string>

#include "bp/communicator.h"

namespace bp::test {

// Checks all types, all reductions and several roots, at sizes around the number of ranks and
// around a segment of `segment_bytes`.
[[nodiscard]] std::string check_all_operations(Communicator& comm, std::size_t segment_bytes);

// The same for two types only.
[[nodiscard]] std::string check_main_operations(Communicator& comm, std::size_t segment_bytes);

// The same with buffers of Communicator::allocate() on the first `own` ranks, for `count` elements
// for each rank.
[[nodiscard]] std::string check_allocated(Communicator& comm, int own, std::size_t count);

}  // namespace bp::test

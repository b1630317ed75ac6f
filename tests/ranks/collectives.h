// Checks of all collectives with exact results, for ranks that are threads or processes over any
// backend. Each check returns "", or the first difference.
#pragma once

#include <string>

#include "bp/communicator.h"

namespace bp::test {

// Checks all five collectives in all types with all reductions, at sizes around the number of ranks
// and around a segment of `segment_bytes`.
[[nodiscard]] std::string check_all_collectives(Communicator& comm, std::size_t segment_bytes);

// The same for two types only, for backends whose messages take milliseconds.
[[nodiscard]] std::string check_main_collectives(Communicator& comm, std::size_t segment_bytes);

// Checks that vectors of random f32 give the same bits on all ranks.
[[nodiscard]] std::string check_bitwise_equality(Communicator& comm, std::size_t count);

// Starts 1000 operations and waits for them in order.
[[nodiscard]] std::string check_many_async(Communicator& comm);

// Checks groups of different sizes, groups of groups, and the world between their operations.
[[nodiscard]] std::string check_split(Communicator& comm);

}  // namespace bp::test

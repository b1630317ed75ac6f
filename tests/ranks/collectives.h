// Checks of all collectives with exact results, for whatever kind of rank: threads over inproc, or
// processes over Gloo. Each returns "" or says what was wrong first.
#pragma once

#include <string>

#include "bp/communicator.h"

namespace bp::test {

// All five operations, all types, all reductions, at sizes around the number of ranks and around a
// segment of `segment_bytes`.
[[nodiscard]] std::string check_all_collectives(Communicator& comm, std::size_t segment_bytes);

// The same for two types only: where a message costs milliseconds.
[[nodiscard]] std::string check_main_collectives(Communicator& comm, std::size_t segment_bytes);

// The same vectors of random f32 give the same bits on all ranks.
[[nodiscard]] std::string check_bitwise_equality(Communicator& comm, std::size_t count);

// 1000 operations in flight at once, waited for in order.
[[nodiscard]] std::string check_many_async(Communicator& comm);

// Groups of uneven sizes, groups of groups, and the world meanwhile.
[[nodiscard]] std::string check_split(Communicator& comm);

}  // namespace bp::test

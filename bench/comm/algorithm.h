// Which algorithm a collective really ran, for the table.
#pragma once

#include <ostream>
#include <string>

#include "bench/comm/task.h"
#include "bp/communicator.h"

namespace bp::bench {

// `op`: one of operation_names(). "native": Gloo chose. "none": one rank has nothing to do.
[[nodiscard]] std::string algorithm_used(const Communicator& comm,
                                         const std::string& op,
                                         std::size_t bytes);

// The same after `op` has run: in shared memory it depends on the memory of all ranks whether
// vectors are read where they lie ("direct") or by way of a stage ("staged").
[[nodiscard]] std::string algorithm_that_ran(const Communicator& comm,
                                             const std::string& op,
                                             std::size_t bytes);

// Of every operation: which algorithm this job takes for which size.
void print_selection(std::ostream& out, const Communicator& comm);

}  // namespace bp::bench

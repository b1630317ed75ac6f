// Which algorithm a collective really ran, for the table.
#pragma once

#include <string>

#include "bench/comm/task.h"
#include "bp/communicator.h"

namespace bp::bench {

// `asked` is what --algorithm said. "native": Gloo chose. "none": one rank has nothing to do.
[[nodiscard]] std::string algorithm_used(const Communicator& comm,
                                         const std::string& op,
                                         const std::string& asked,
                                         std::size_t bytes);

}  // namespace bp::bench

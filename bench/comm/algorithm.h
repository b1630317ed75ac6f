// Finds out which algorithm a collective runs, for comm_bench's table.
#pragma once

#include <ostream>
#include <string>

#include "bench/comm/task.h"
#include "bp/communicator.h"

namespace bp::bench {

// Returns the algorithm for `op`, one of operation_names(), at this size. "native" means that Gloo
// chooses, and "none" that there is one rank, which has nothing to do.
[[nodiscard]] std::string algorithm_used(const Communicator& comm,
                                         const std::string& op,
                                         std::size_t bytes);

// Returns the algorithm that the last `op` of comm_bench ran. In shared memory it depends on the
// memory of all ranks whether peers read the vectors directly ("direct"), through a staging buffer
// ("staged") or by system calls ("single-copy"). For memory of devices it depends on what the ranks
// share.
[[nodiscard]] std::string algorithm_that_ran(const Communicator& comm,
                                             const std::string& op,
                                             const Task& task);

// Returns what moved the data of the tasks on `device`: "shm", "nccl", "staged+gloo".
[[nodiscard]] std::string backend_that_ran(const Communicator& comm, const Device& device);

// Prints the algorithm that this job uses for each operation and size.
void print_selection(std::ostream& out, const Communicator& comm);

}  // namespace bp::bench

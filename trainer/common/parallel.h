// Runs independent jobs on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace bp::trainer {

// Calls job(0), ..., job(count - 1), each once, on this thread and on others, one per core that
// this process may use. Returns when all have ended. Rethrows the exception of the first of them
// that throws, in the order of their numbers. Works with fewer threads, or with this one alone, if
// the system allows no more.
void run_in_parallel(std::size_t count, const std::function<void(std::size_t)>& job);

}  // namespace bp::trainer

// comm_bench --tune: measures every algorithm of all_reduce in this job.
#pragma once

#include <ostream>

#include "bench/comm/options.h"
#include "bp/communicator.h"
#include "comm/backend/common/selection_table.h"

namespace bp::bench {

// Collective. Returns the fastest algorithm for each of the options' sizes. Rank 0 prints all times
// to `out`. Throws invalid_argument if there is only one algorithm, as with one rank.
[[nodiscard]] SelectionTable tune(Communicator& comm, const Options& options, std::ostream& out);

}  // namespace bp::bench

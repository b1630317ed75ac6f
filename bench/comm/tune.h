// comm_bench --tune: measures every algorithm of all_reduce in this job.
#pragma once

#include <ostream>

#include "bench/comm/options.h"
#include "bp/communicator.h"
#include "comm/backend/selection_table.h"

namespace bp::bench {

// Collective: which algorithm was the fastest for which of the options' sizes; rank 0 shows all
// times on `out`. Throws invalid_argument where there is nothing to choose, as with one rank.
[[nodiscard]] SelectionTable tune(Communicator& comm, const Options& options, std::ostream& out);

}  // namespace bp::bench

// Finds out what a rank that a launcher started needs to know, and what bprun would have set.
#pragma once

#include <memory>

#include "bp/communicator.h"
#include "bp/environment.h"
#include "comm/rendezvous/store_host.h"
#include "comm/topology/variables.h"

namespace bp {

struct LaunchedJob {
  Environment environment;          // with hosts, store and key
  std::shared_ptr<StoreHost> host;  // on rank 0; must exist as long as the job
};

// Collective: every rank of the launcher must call it. Rank 0 starts the job's store, the others
// find it (store_rendezvous.h), and all publish there which hosts they are on. Blocks until all
// have done so, for at most options.start_timeout. Throws timeout, naming the ranks that are
// missing, `unavailable` if there is no channel, and what the channel throws.
[[nodiscard]] LaunchedJob join_launched_job(const Variables& variables,
                                            const CommunicatorOptions& options);

}  // namespace bp

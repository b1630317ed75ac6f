// How a rank that an engine started comes to know what bprun would have told it.
#pragma once

#include <memory>

#include "bp/communicator.h"
#include "bp/environment.h"
#include "comm/rendezvous/store_host.h"
#include "comm/topology/variables.h"

namespace bp {

struct EngineJob {
  Environment environment;          // with hosts, store and key
  std::shared_ptr<StoreHost> host;  // rank 0's; the job ends with it
};

// All ranks of the engine must call it: they meet (store_rendezvous.h), and tell each other which
// hosts they are on. Throws timeout naming who has not come, `unavailable` where there is no way to
// meet, and what a channel throws.
[[nodiscard]] EngineJob meet_engine_job(const Variables& variables,
                                        const CommunicatorOptions& options);

}  // namespace bp

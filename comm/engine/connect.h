// Makes a world of ranks that share a store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "bp/environment.h"
#include "bp/store.h"
#include "bp/trace.h"
#include "comm/backend/selection.h"
#include "comm/peers/local_address.h"

namespace bp {

struct WorldPlan {
  std::string name;  // unique in the job; all keys begin with it: "world", "world@1"
  Topology topology;
  std::vector<int> launcher_ranks;  // the launcher's numbers of the ranks
  CommunicatorOptions options;      // with what the environment says
  SelectionTable measured;          // the table that the options name
  ListenOn listen;
  JobKey key{};
  std::shared_ptr<Trace> trace = {};  // may be null
};

// Blocks until all ranks of the plan have called this. Throws `timeout`, naming the missing ranks,
// and what else Communicator::create() throws.
[[nodiscard]] Communicator connect_world(const WorldPlan& plan, std::shared_ptr<Store> store);

}  // namespace bp

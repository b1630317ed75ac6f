// Makes a world of ranks that share a store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bp/communicator.h"
#include "bp/environment.h"
#include "bp/store.h"
#include "bp/trace.h"
#include "comm/backend/backends.h"
#include "comm/backend/common/selection.h"
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

// Which backend serves the memory of CUDA devices: what the options ask for, if all ranks can have
// it.
//
// With "auto" a rank can use NCCL if its program has loaded NCCL already, as LibTorch with CUDA
// does, or if BP_NCCL names it, and if there is a device. bp does not search for it: to open it
// takes time and memory, which a program that uses host memory need not spend.
//
// Returns what this rank uses if it is alone. Throws `unavailable` if it must use NCCL and cannot.
[[nodiscard]] DeviceBackend own_device_choice(const std::string& backend);

}  // namespace bp

// Gives all ranks the parameters and the optimizer's state of one of them.
#pragma once

#include <torch/optim/optimizer.h>

#include <optional>
#include <vector>

#include <c10/core/Device.h>

#include "bp/communicator.h"
#include "comm/torch/host_shards.h"
#include "comm/torch/parameter_set.h"

namespace bp {

// Copies one rank's tensors to all ranks, bit for bit, but for those that `shards` has. Collective.
void broadcast_tensors(Communicator& comm,
                       const std::vector<Parameter>& parameters,
                       const std::optional<HostShards>& shards,
                       int root);

// Broadcasts everything that the optimizer saves: the state of each parameter (also that it has
// none), step counters, learning rates and the other options of each group. The root loads it, too,
// so that what an optimizer notes beside its state begins alike on all ranks. `device` is that of
// the parameters, to which the state is loaded. Collective.
void broadcast_state(Communicator& comm,
                     torch::optim::Optimizer& optimizer,
                     c10::Device device,
                     int root);

}  // namespace bp

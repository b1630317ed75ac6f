// Copies one rank's parameters and optimizer state to all ranks, bit for bit.
#pragma once

#include <vector>

#include <c10/core/Device.h>

#include "comm/torch/parameters.h"

namespace bp {

void broadcast_tensors(Communicator& comm, const std::vector<Parameter>& parameters, int root);

// Broadcasts everything that the optimizer saves: the state of each parameter (also that it has
// none), step counters, learning rates and the other options of each group. `device` is that of the
// parameters, to which the state is loaded.
void broadcast_state(Communicator& comm,
                     torch::optim::Optimizer& optimizer,
                     c10::Device device,
                     int root);

}  // namespace bp

// Gives all ranks the state of the wrapped optimizer that one of them has.
#pragma once

#include <torch/optim/optimizer.h>

#include <c10/core/Device.h>

#include "bp/communicator.h"

namespace bp {

// Broadcasts everything that the optimizer saves: the state of each parameter (also that it has
// none), step counters, learning rates and the other options of each group. The root loads it, too,
// so that what an optimizer notes beside its state begins alike on all ranks. `device` is that of
// the parameters, to which the state is loaded. Collective.
void broadcast_state(Communicator& comm,
                     torch::optim::Optimizer& optimizer,
                     c10::Device device,
                     int root);

}  // namespace bp

// Which optimizers ranks can divide.
#pragma once

#include <torch/optim/optimizer.h>

#include <string>

#include <c10/core/Device.h>

#include "bp/communicator.h"
#include "bp/torch/elementwise.h"
#include "bp/torch/shard.h"

namespace bp {

// Returns null for an optimizer that does not treat each element by itself.
[[nodiscard]] const Elementwise* elementwise(const torch::optim::Optimizer& optimizer);

// Returns why the ranks cannot divide this for parameters on such a device; empty if they can, and
// for `none`. The same on all ranks.
[[nodiscard]] std::string reason_against_shards(const Communicator& comm,
                                                c10::Device device,
                                                const torch::optim::Optimizer& optimizer,
                                                Shard shard);

}  // namespace bp

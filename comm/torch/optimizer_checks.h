// Checks the arguments of a DistributedOptimizer, and that they are alike on all ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bp/torch/distributed_optimizer.h"
#include "comm/torch/parameter_set.h"

namespace bp {

// Returns the options, with a `shard` that is not automatic, and with `layers` only
// if the ranks of several hosts divide something. Throws invalid_argument for impossible ones.
[[nodiscard]] DistributedOptimizerOptions checked(const DistributedOptimizerOptions& given,
                                                  const Communicator& comm,
                                                  const ParameterSet& parameters,
                                                  const torch::optim::Optimizer& optimizer);

// Throws invalid_argument if `sparse` names anything but trained parameters with rows, or one that
// is not on the CPU.
void require_known(const std::vector<std::string>& sparse, const ParameterSet& parameters);

// Throws a mismatch on all ranks unless they are equal in everything that their buckets depend on.
// Collective.
void require_agreement(Communicator& comm,
                       const ParameterSet& parameters,
                       const torch::optim::Optimizer& optimizer,
                       const DistributedOptimizerOptions& options);

// Throws invalid_argument for a state that no optimizer of `parameters` trained parameters has.
void require_plausible(const DistributedOptimizer::State& state, std::size_t parameters);

// The same for a state that differs between ranks, as a mismatch. Collective.
void require_agreement(Communicator& comm, const DistributedOptimizer::State& state);

}  // namespace bp

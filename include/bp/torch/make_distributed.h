// A DistributedOptimizer for a module, in the one line in which a plain program makes its
// optimizer.
//
//   torch::optim::SGD optimizer(model->parameters(), 0.1);                             // plain
//   auto optimizer = bp::make_distributed<torch::optim::SGD>(world, *model, 0.1);      // with bp
#pragma once

#include <torch/nn/module.h>

#include <memory>

#include "bp/communicator.h"
#include "bp/export.h"
#include "bp/torch/distributed_optimizer.h"

namespace BP_API bp {

// Returns a DistributedOptimizer around Optimizer(module.parameters(), settings). `settings` are
// what that optimizer takes: its options or a learning rate. It calls broadcast_parameters(), so
// all ranks start with the parameters of rank 0. Collective. `comm` must outlive the result. Throws
// what the constructor and broadcast_parameters() throw.
template <class Optimizer, class Settings>
[[nodiscard]] DistributedOptimizer make_distributed(
    Communicator& comm,
    const torch::nn::Module& module,
    const Settings& settings,
    const DistributedOptimizerOptions& options = {}) {
  return DistributedOptimizer(comm, module.named_parameters().pairs(),
                              std::make_unique<Optimizer>(module.parameters(), settings), options,
                              DistributedOptimizer::Start::from_rank_0);
}

}  // namespace bp

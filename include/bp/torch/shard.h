// How much of the training state the ranks of a host shard: an option of DistributedOptimizer.
#pragma once

#include <cstdint>

#include "bp/export.h"

namespace BP_API bp {

// `none`: each rank keeps and updates everything. `optimizer`: the ranks of a host keep one copy of
// the parameters and of the wrapped optimizer's state together, in shared memory. Each rank gets
// the summed gradient of its own part of each parameter only, and updates that part. The results
// have the same bits as those of `none`.
//
// It is for parameters on the CPU, one host whose ranks share memory (communicator.h), and
// optimizers that treat each element by itself: SGD, Adam, AdamW, RMSprop and Adagrad of LibTorch,
// and those of your own that say so (bp/torch/elementwise.h). Anything else is refused by name; for
// `automatic` it means `none`.
//
// The constructor gives all ranks rank 0's parameters, and the destructor each rank its own again.
// In between, the program must write a parameter on one rank only, or replace its memory
// (set_data()). Between reduce() and step() the gradient that a parameter shows is the mean in this
// rank's part only, and may not be replaced. clip_grad_norm() is a collective. Parameters with
// sparse gradients and their state stay whole on each rank, unless the optimizer divides rows
// (RowSharing). If step() throws, parameters may be partly updated.
enum class Shard : std::uint8_t { none, optimizer, automatic };

}  // namespace bp

// The collectives of bp/collective.h on LibTorch tensors, in place. Autograd does not see them.
//
//   at::Tensor loss = ...;
//   bp::all_reduce(world, loss, {.op = bp::ReduceOp::average, .name = "loss"});
#pragma once

#include "bp/collective.h"
#include "bp/export.h"

namespace at {
class Tensor;
}

namespace BP_API bp {

// The tensor's memory as a view; it must outlive every use of the view. Throws invalid_argument for
// what no collective can take: undefined, not on the CPU, not contiguous, or of an element type
// that bp has not (bool, complex, quantised, ...).
[[nodiscard]] View view_of(const at::Tensor& tensor);

void all_reduce(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options = {});
void broadcast(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options = {});

}  // namespace bp

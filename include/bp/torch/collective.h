// The collectives of bp/collective.h on LibTorch tensors.
//
//   at::Tensor loss = ...;
//   bp::all_reduce(world, loss, {.op = bp::ReduceOp::average, .name = "loss"});  // in place
//   at::Tensor all = bp::all_gathered(world, embeddings, {.name = "embeddings"});  // with gradient
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

// Returns this rank's rows of a tensor that all ranks have: block_of() along its first dimension,
// as a view. For programs in which every rank draws or reads a whole batch.
[[nodiscard]] at::Tensor own_rows(const Communicator& comm, const at::Tensor& whole);

// In place. Autograd does not see them.
void all_reduce(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options = {});
void broadcast(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options = {});

// The following leave `tensor` as it is and return a new one, through which gradients flow: what a
// rank's input gets is the gradient of the sum of all ranks' losses. (For the mean of all ranks'
// losses divide it by their number.) Any strides will do; the result is contiguous.
//
// backward() through them is a collective too, named "<name> backward": either all ranks' inputs
// require a gradient or none does, and all ranks run backward through the same of them in the same
// order. `comm` must outlive the result's graph. Errors are those of the collectives, and
// invalid_argument for a gradient through a min, max or product.

// Sum and average have gradients.
[[nodiscard]] at::Tensor all_reduced(Communicator& comm,
                                     const at::Tensor& tensor,
                                     const CollectiveOptions& options = {});

// All ranks' tensors, which have one shape, joined along their first dimension in the order of
// ranks; scalars become a vector.
[[nodiscard]] at::Tensor all_gathered(Communicator& comm,
                                      const at::Tensor& tensor,
                                      const CollectiveOptions& options = {});

// Root's tensor. The others give one of its shape, whose gradient is zero.
[[nodiscard]] at::Tensor broadcasted(Communicator& comm,
                                     const at::Tensor& tensor,
                                     const CollectiveOptions& options = {});

}  // namespace bp

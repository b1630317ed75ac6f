// The collectives of bp/collective.h on LibTorch tensors.
//
//   at::Tensor loss = ...;
//   bp::all_reduce(world, loss, {.op = bp::ReduceOp::average, .name = "loss"});  // in place
//   at::Tensor all = bp::all_gathered(world, embeddings, {.name = "embeddings"});  // with gradient
#pragma once

#include <vector>

#include "bp/collective.h"
#include "bp/export.h"

namespace at {
class Tensor;
}

namespace BP_API bp {

// Returns a view of the tensor's memory, which must outlive every use of the view. Throws
// invalid_argument for a tensor that no collective can take: undefined, without memory, not
// contiguous, or of an element type that bp does not have (i16, c128, quantised, ...).
//
// The view of a tensor on a device of LibTorch is on the CUDA device with the same index. A
// collective on such a view needs CollectiveOptions::stream, the stream on which LibTorch writes
// the tensor.
[[nodiscard]] View view_of(const at::Tensor& tensor);

// Returns a view of this rank's rows of a tensor that all ranks have: its block_of() along the
// first dimension. For programs in which every rank draws or reads a whole batch.
[[nodiscard]] at::Tensor own_rows(const Communicator& comm, const at::Tensor& whole);

// As the collectives on views, in place. Autograd does not see them. Without options.stream, those
// of a tensor on a device begin after the work on LibTorch's current stream of that device. They
// block until the output is complete, on a device too.
void all_reduce(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options = {});
void broadcast(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options = {});

// Moves the elements of tensors that no rank changes, e.g. a teacher's weights, into memory that
// the ranks of a host share, with the values of rank 0. The other ranks' tensors need the same
// sizes, but no values. Ranks that share no memory get values of their own. A tensor keeps the
// memory for as long as it lives, also after `comm`. Collective. Throws invalid_argument for a
// tensor that is not dense or not on the CPU, and what Communicator::allocate_shared() throws.
void share_constants(Communicator& comm, const std::vector<at::Tensor>& tensors);

// The following functions leave `tensor` unchanged and return a new tensor, through which gradients
// flow: the input of a rank gets the gradient of the sum of all ranks' losses. (For the mean of the
// losses, divide it by the number of ranks.) `tensor` may have any strides; the result is
// contiguous. Streams are as above.
//
// backward() through them is a collective too, named "<name> backward". So either all ranks' inputs
// must require a gradient or none may, and all ranks must run backward through the same ones in the
// same order. With create_graph the gradients have gradients themselves, of any order. `comm` must
// outlive the result's graph. Errors are those of the collectives, and invalid_argument for a
// gradient through min, max or product.

// Returns the reduction over all ranks. Sum and average have gradients, with prescale and
// postscale.
[[nodiscard]] at::Tensor all_reduced(Communicator& comm,
                                     const at::Tensor& tensor,
                                     const CollectiveOptions& options = {});

// Returns the tensors of all ranks, which must have the same shape, joined along their first
// dimension in the order of ranks; scalars become a vector.
[[nodiscard]] at::Tensor all_gathered(Communicator& comm,
                                      const at::Tensor& tensor,
                                      const CollectiveOptions& options = {});

// Returns root's tensor. The other ranks give a tensor of its shape, whose gradient is zero.
[[nodiscard]] at::Tensor broadcasted(Communicator& comm,
                                     const at::Tensor& tensor,
                                     const CollectiveOptions& options = {});

}  // namespace bp

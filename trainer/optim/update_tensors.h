// The updates of update_loops.h by LibTorch's operations, for parameters that do not lie in the
// host's memory. They differ from those of the loops by rounding only. The host does not wait for
// the device.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/optim/update_loops.h"

namespace bp::trainer {

void lion_update(at::Tensor& parameter,
                 const at::Tensor& gradient,
                 at::Tensor& exp_avg,
                 const LionStep& step);

void adadelta_update(at::Tensor& parameter,
                     const at::Tensor& gradient,
                     at::Tensor& square_avg,
                     at::Tensor& acc_delta,
                     const AdadeltaStep& step);

// LAMB: updates the two means, and returns the update before its ratio.
[[nodiscard]] at::Tensor lamb_direction(const at::Tensor& parameter,
                                        const at::Tensor& gradient,
                                        at::Tensor& exp_avg,
                                        at::Tensor& exp_avg_sq,
                                        const LambStep& step);
// Returns the sum of the squares of each piece of kGrain elements, in the order of memory. One
// block of threads adds a piece, so that the order does not depend on how many multiprocessors a
// GPU has, and all ranks get the same bits.
[[nodiscard]] at::Tensor squares_of_pieces(const at::Tensor& elements);
// Returns the ratio of the norms, a scalar, from the squares of all pieces.
[[nodiscard]] at::Tensor trust_ratio(const at::Tensor& parameter, const at::Tensor& update);
// All of it for a whole parameter.
void lamb_update(at::Tensor& parameter,
                 const at::Tensor& gradient,
                 at::Tensor& exp_avg,
                 at::Tensor& exp_avg_sq,
                 double lr,
                 const LambStep& step);

}  // namespace bp::trainer

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

// Both of LAMB's loops, with the ratio of the norms between them (update_rules.h).
void lamb_update(at::Tensor& parameter,
                 const at::Tensor& gradient,
                 at::Tensor& exp_avg,
                 at::Tensor& exp_avg_sq,
                 double lr,
                 const LambStep& step);

}  // namespace bp::trainer

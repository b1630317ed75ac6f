// R-Drop: the predictions under two dropout masks must agree.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/data/batch.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

// The first of the two passes.
struct RDropPass {
  at::Tensor outputs;
  at::Tensor loss;
};

struct RDropLoss {
  at::Tensor task;       // (loss1 + loss2) / 2
  at::Tensor agreement;  // KL(p1 || p2) + KL(p2 || p1)
};

// Makes a second pass over the batch with other dropout masks and returns the parts of the mean
// loss
//
//   (loss1 + loss2) / 2 + alpha / 4 * (KL(p1 || p2) + KL(p2 || p1)),
//
// p1 and p2 being what the two passes predict. This is half of equation 4 of Liang et al., 2021,
// "R-Drop: regularized dropout for neural networks" (arXiv:2106.14448), so that the loss keeps the
// scale that it has without R-Drop. Without dropout it is the first loss.
[[nodiscard]] RDropLoss r_drop_loss(const Bert& model,
                                    const Batch& batch,
                                    const TrainingStep& step,
                                    const RDropPass& first);

}  // namespace bp::trainer

#include "trainer/train/r_drop.h"

#include <ATen/TensorOperators.h>

namespace bp::trainer {

RDropLoss r_drop_loss(const Bert& model,
                      const Batch& batch,
                      const TrainingStep& step,
                      const RDropPass& first) {
  TrainingStep other = step;
  other.draw = step.draw + 1;
  const at::Tensor outputs = model.forward(batch, &other);
  const at::Tensor agreement = model.divergence(first.outputs, outputs, batch).mean +
                               model.divergence(outputs, first.outputs, batch).mean;
  return {(first.loss + model.loss(outputs, batch).mean) / 2, agreement};
}

}  // namespace bp::trainer

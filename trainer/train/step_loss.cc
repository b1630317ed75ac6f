#include "trainer/train/step_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include "trainer/train/distillation.h"
#include "trainer/train/r_drop.h"
#include "trainer/train/vat.h"

namespace bp::trainer {

Loss step_loss(const Bert& model,
               const Batch& batch,
               const TrainingStep& step,
               const Regularization& regularization,
               const Distillation* distillation) {
  const Bert::WithStates student = distillation != nullptr && distillation->reads_states()
                                       ? model.forward_with_states(batch, &step)
                                       : Bert::WithStates{model.forward(batch, &step)};
  const at::Tensor& outputs = student.outputs;
  Loss loss = model.loss(outputs, batch);
  if (regularization.r_drop > 0) {
    loss.mean = r_drop_loss(model, batch, step, {outputs, loss.mean, regularization.r_drop});
  }
  if (regularization.vat > 0) {
    const VatOptions vat{regularization.vat_xi, regularization.vat_eps};
    const VatLoss vat_loss(model, batch, step, outputs);
    loss.mean = loss.mean + regularization.vat * vat_loss(vat);
  }
  return distillation == nullptr ? loss : (*distillation)(model, student, loss, batch);
}

}  // namespace bp::trainer

#include "trainer/train/methods/vat.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstddef>

#include "trainer/model/noise.h"
#include "trainer/model/passes/device_of.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// Returns the encoder's layout of a batch that has these outputs. See kTokenMultiple.
Layout layout_of(const Batch& batch, const Tensor& outputs) {
  return make_layout(batch.lengths, batch.sample_ids, outputs.is_cpu() ? kTokenMultiple : 1);
}

// Scales each sample's rows of `x` to the Euclidean length 1; rows that are nearly 0 stay so. The
// largest number is brought to 1 first, because the squares of small numbers would be 0.
void normalize(const Layout& layout, Tensor& x) {
  for (int row = 0; row < layout.rows; ++row) {
    const std::int64_t begin = layout.offsets[static_cast<std::size_t>(row)];
    Tensor own = x.narrow(0, begin, layout.length(row));
    own.div_(own.abs().max() + 1e-12);
    own.div_((own.square().sum() + 1e-6).sqrt());
  }
}

}  // namespace

VatLoss::VatLoss(const Bert& model,
                 const Batch& batch,
                 const TrainingStep& step,
                 const Tensor& outputs)
    : model_(model),
      batch_(batch),
      step_(step),
      target_(outputs.detach()),
      layout_(layout_of(batch, outputs)) {}

Loss VatLoss::of(const Tensor& perturbation) const {
  TrainingStep pass = step_;
  pass.perturbation = perturbation;
  return model_.divergence(target_, model_.forward(batch_, &pass), batch_);
}

Tensor VatLoss::perturbation(const Tensor& noise, const Regularization& options) const {
  const at::AutoGradMode needed(true);  // even where the caller computes no gradient
  Tensor start = noise.clone();
  normalize(layout_, start);
  start.mul_(options.vat_xi).requires_grad_(true);
  const Loss change = of(start);
  // The sum over the samples: the direction of one must not depend on the others in its batch.
  Tensor direction = torch::autograd::grad({change.mean * change.weight}, {start})[0];
  normalize(layout_, direction);
  return direction.mul_(options.vat_eps);
}

Tensor VatLoss::operator()(const Regularization& options) const {
  const Tensor noise = normal_noise(layout_, model_.config().embedding_width(), step_);
  return of(perturbation(on_device_of(target_, noise), options)).mean;
}

}  // namespace bp::trainer

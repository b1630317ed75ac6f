#include "trainer/train/methods/step_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <cmath>

#include "trainer/train/methods/distillation.h"
#include "trainer/train/methods/vat.h"

namespace bp::trainer {
namespace {

constexpr const char* kTaskFigure = "task_loss";
constexpr const char* kRDropFigure = "r_drop_loss";
constexpr const char* kVatFigure = "vat_loss";

bool has_parts(const Regularization& regularization, const Distillation* distillation) {
  return regularization.r_drop > 0 || regularization.vat > 0 || distillation != nullptr;
}

}  // namespace

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
  const auto report = [&loss](const char* name, const at::Tensor& mean) {
    loss.figures.push_back({name, mean.detach().to(at::kDouble) * loss.weight, loss.weight});
  };
  at::Tensor added;
  if (regularization.r_drop > 0) {
    // A second pass over the batch, with other dropout masks, must predict the same. The loss is
    //
    //   (loss1 + loss2) / 2 + alpha / 4 * (KL(p1 || p2) + KL(p2 || p1)),
    //
    // p1 and p2 being what the two passes predict. This is half of equation 4 of Liang et al.,
    // 2021, "R-Drop: regularized dropout for neural networks" (arXiv:2106.14448), so that the loss
    // keeps the scale that it has without R-Drop. Without dropout it is the first loss.
    TrainingStep other = step;
    other.draw = step.draw + 1;
    const at::Tensor second = model.forward(batch, &other);
    const at::Tensor agreement = model.divergence(outputs, second, batch).mean +
                                 model.divergence(second, outputs, batch).mean;
    report(kRDropFigure, agreement);
    loss.mean = (loss.mean + model.loss(second, batch).mean) / 2;
    added = regularization.r_drop / 4 * agreement;
  }
  if (!has_parts(regularization, distillation)) return loss;
  report(kTaskFigure, loss.mean);
  if (added.defined()) loss.mean = loss.mean + added;
  if (regularization.vat > 0) {
    const VatLoss vat_loss(model, batch, step, outputs);
    const at::Tensor mean = vat_loss(regularization);
    report(kVatFigure, mean);
    loss.mean = loss.mean + regularization.vat * mean;
  }
  return distillation == nullptr ? loss : (*distillation)(model, student, loss, batch);
}

TrainingStep drawn_step(const TrainOptions& options, const Bert& model, std::int64_t number) {
  TrainingStep step{options.seed, static_cast<std::uint64_t>(number)};
  if (options.checkpoint_activations) {
    step.recomputed_layers = static_cast<int>(std::ceil(std::sqrt(model.config().layers)));
  }
  return step;
}

std::vector<std::string> step_figures(const Bert& model,
                                      const Regularization& regularization,
                                      const Distillation* distillation) {
  std::vector<std::string> names = model.figures();
  if (has_parts(regularization, distillation)) names.emplace_back(kTaskFigure);
  if (regularization.r_drop > 0) names.emplace_back(kRDropFigure);
  if (regularization.vat > 0) names.emplace_back(kVatFigure);
  if (distillation == nullptr) return names;
  for (const char* name : distillation->figures()) names.emplace_back(name);
  return names;
}

}  // namespace bp::trainer

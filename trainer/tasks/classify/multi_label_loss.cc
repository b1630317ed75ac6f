#include "trainer/tasks/classify/multi_label_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>

#include "trainer/model/device_of.h"

namespace bp::trainer {
namespace {

Loss mean_of(const at::Tensor& losses) {
  return {losses.mean(), static_cast<double>(losses.size(0))};
}

}  // namespace

Loss multi_label_loss(const at::Tensor& logits,
                      const at::Tensor& answers,
                      const ClassLossOptions& options,
                      const std::vector<double>& weights) {
  c10::optional<at::Tensor> of_yes;
  if (!weights.empty()) {
    of_yes = on_device_of(logits, at::tensor(weights).to(logits.scalar_type()));
  }
  const double smoothing = options.label_smoothing;
  const at::Tensor own_answers = on_device_of(logits, answers);
  const at::Tensor targets = own_answers * (1 - smoothing) + smoothing / 2;
  at::Tensor losses =
      at::binary_cross_entropy_with_logits(logits, targets, {}, of_yes, at::Reduction::None);
  if (options.focal_gamma > 0) {
    // 1 - p of the true answer: sigmoid(-x) for yes, sigmoid(x) for no.
    const at::Tensor missing = at::sigmoid(logits * (1 - 2 * own_answers));
    losses = losses * at::pow(missing, options.focal_gamma);
  }
  return mean_of(losses);
}

Loss multi_label_divergence(const at::Tensor& logits, const at::Tensor& others) {
  const at::Tensor yes = at::sigmoid(logits);
  const at::Tensor of_yes = yes * (at::log_sigmoid(logits) - at::log_sigmoid(others));
  const at::Tensor of_no = (1 - yes) * (at::log_sigmoid(-logits) - at::log_sigmoid(-others));
  return mean_of(of_yes + of_no);
}

}  // namespace bp::trainer

#include "trainer/tasks/classify/class_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>

#include <cstdint>

#include "trainer/model/passes/device_of.h"
#include "trainer/tasks/linear_head.h"

namespace bp::trainer {
namespace {

// Returns how much each sample counts, on the CPU.
at::Tensor weights_of_samples(const at::Tensor& logits,
                              const at::Tensor& labels,
                              const std::vector<double>& weights) {
  if (weights.empty()) return at::ones_like(labels, logits.scalar_type());
  return at::tensor(weights).to(logits.scalar_type()).index_select(0, labels);
}

Loss mean_of(const at::Tensor& losses) {
  return {losses.mean(), static_cast<double>(losses.size(0))};
}

}  // namespace

Loss class_loss(const at::Tensor& logits,
                const at::Tensor& labels,
                const ClassLossOptions& options,
                const std::vector<double>& weights) {
  constexpr std::int64_t kIgnoreNone = -100;
  const auto none = at::Reduction::None;
  const at::Tensor targets = on_device_of(logits, labels);
  c10::optional<at::Tensor> of_labels;
  if (!weights.empty()) {
    of_labels = on_device_of(logits, at::tensor(weights).to(logits.scalar_type()));
  }
  at::Tensor losses = at::cross_entropy_loss(logits, targets, of_labels, none, kIgnoreNone,
                                             options.label_smoothing);
  if (options.focal_gamma > 0) {
    const at::Tensor plain = at::cross_entropy_loss(logits, targets, {}, none);
    losses = losses * at::pow(1 - at::exp(-plain), options.focal_gamma);
  }
  const auto weight = weights_of_samples(logits, labels, weights).sum().item<double>();
  return {losses.sum() / weight, weight};
}

Loss class_divergence(const at::Tensor& logits,
                      const at::Tensor& others,
                      const at::Tensor& labels,
                      const std::vector<double>& weights) {
  const at::Tensor own_weights = weights_of_samples(logits, labels, weights);
  const auto weight = own_weights.sum().item<double>();
  const at::Tensor divergences = row_divergences(logits, others);
  return {(on_device_of(logits, own_weights) * divergences).sum() / weight, weight};
}

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

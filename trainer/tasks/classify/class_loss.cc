#include "trainer/tasks/classify/class_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/tensor.h>

#include <cstdint>

#include "trainer/model/device_of.h"
#include "trainer/tasks/divergence.h"

namespace bp::trainer {
namespace {

// Returns how much each sample counts, on the CPU.
at::Tensor weights_of_samples(const at::Tensor& logits,
                              const at::Tensor& labels,
                              const std::vector<double>& weights) {
  if (weights.empty()) return at::ones_like(labels, logits.scalar_type());
  return at::tensor(weights).to(logits.scalar_type()).index_select(0, labels);
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

}  // namespace bp::trainer

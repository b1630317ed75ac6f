#include "trainer/tasks/classify/class_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/tensor.h>

#include <cstdint>

#include "trainer/tasks/divergence.h"

namespace bp::trainer {
namespace {

// Returns how much each sample counts.
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
  c10::optional<at::Tensor> of_labels;
  if (!weights.empty()) of_labels = at::tensor(weights).to(logits.scalar_type());
  at::Tensor losses =
      at::cross_entropy_loss(logits, labels, of_labels, none, kIgnoreNone, options.label_smoothing);
  if (options.focal_gamma > 0) {
    const at::Tensor plain = at::cross_entropy_loss(logits, labels, {}, none);
    losses = losses * at::pow(1 - at::exp(-plain), options.focal_gamma);
  }
  const at::Tensor weight = weights_of_samples(logits, labels, weights).sum();
  return {losses.sum() / weight, weight.item<double>()};
}

Loss class_divergence(const at::Tensor& logits,
                      const at::Tensor& others,
                      const at::Tensor& labels,
                      const std::vector<double>& weights) {
  const at::Tensor own_weights = weights_of_samples(logits, labels, weights);
  const at::Tensor weight = own_weights.sum();
  return {(own_weights * row_divergences(logits, others)).sum() / weight, weight.item<double>()};
}

}  // namespace bp::trainer

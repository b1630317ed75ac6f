#include "trainer/tasks/classify/class_loss.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/tensor.h>

#include <cstdint>

namespace bp::trainer {

Loss class_loss(const at::Tensor& logits,
                const at::Tensor& labels,
                const ClassLossOptions& options,
                const std::vector<double>& weights) {
  constexpr std::int64_t kIgnoreNone = -100;
  const auto none = at::Reduction::None;
  at::Tensor own_weights;  // of each sample
  c10::optional<at::Tensor> of_labels;
  if (weights.empty()) {
    own_weights = at::ones_like(labels, logits.scalar_type());
  } else {
    of_labels = at::tensor(weights).to(logits.scalar_type());
    own_weights = of_labels->index_select(0, labels);
  }
  at::Tensor losses =
      at::cross_entropy_loss(logits, labels, of_labels, none, kIgnoreNone, options.label_smoothing);
  if (options.focal_gamma > 0) {
    const at::Tensor plain = at::cross_entropy_loss(logits, labels, {}, none);
    losses = losses * at::pow(1 - at::exp(-plain), options.focal_gamma);
  }
  const at::Tensor weight = own_weights.sum();
  return {losses.sum() / weight, weight.item<double>()};
}

}  // namespace bp::trainer

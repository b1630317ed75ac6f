// Virtual adversarial training: the predictions must not change when the embeddings change a little
// in the direction that changes them most.
#pragma once

#include <ATen/core/Tensor.h>

#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"
#include "trainer/model/passes/layout.h"
#include "trainer/tasks/regularization.h"

namespace bp::trainer {

// The loss KL(p || p(r)) of a batch. p is what a pass predicted, as a constant, and p(r) the
// prediction with the perturbation r of the word embeddings. r is one step of the power method
// (Miyato et al., 2018, "Virtual adversarial training", arXiv:1704.03976, algorithm 1):
//
//   d = vat_xi * norm(noise),  g = gradient of KL(p || p(d)) by d,  r = vat_eps * norm(g),
//
// where norm() scales each sample's numbers to the Euclidean length 1. All passes have the dropout
// masks of the first one, so that r alone changes the prediction.
class VatLoss {
 public:
  // `outputs`: of the pass over the batch without a perturbation. All but `outputs` must outlive
  // the object.
  VatLoss(const Bert& model,
          const Batch& batch,
          const TrainingStep& step,
          const at::Tensor& outputs);

  // Returns the mean loss, for noise that the step draws.
  [[nodiscard]] at::Tensor operator()(const Regularization& options) const;

  // Returns r for this noise. Both are fp32 [tokens, hidden], as TrainingStep::perturbation, and on
  // the model's device.
  [[nodiscard]] at::Tensor perturbation(const at::Tensor& noise,
                                        const Regularization& options) const;
  // Returns KL(p || p(r)), with the mean and weight that the head's loss has.
  [[nodiscard]] Loss of(const at::Tensor& perturbation) const;

 private:
  const Bert& model_;
  const Batch& batch_;
  const TrainingStep& step_;
  at::Tensor target_;
  Layout layout_;
};

}  // namespace bp::trainer

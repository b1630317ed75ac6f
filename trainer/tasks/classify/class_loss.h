// The loss of a classifier: cross entropy, perhaps with smoothed labels, weighted labels, or less
// weight for samples that are easy. If a sample has any number of labels, each label is a question
// of its own, with the answer yes or no.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "trainer/model/head.h"
#include "trainer/tasks/classify/class_input.h"

namespace bp::trainer {

// Returns the mean over the samples, in which each counts as much as its label's weight, and the
// sum of these weights. `logits`: [rows, labels]; `labels`: int64 [rows], on the CPU; `weights`: of
// each label, or empty.
//
// Label smoothing is that of torch.nn.CrossEntropyLoss. The focal loss is (1 - p)^gamma times the
// cross entropy, p being the probability of the true label (Lin et al., 2017, "Focal loss for dense
// object detection").
[[nodiscard]] Loss class_loss(const at::Tensor& logits,
                              const at::Tensor& labels,
                              const ClassLossOptions& options,
                              const std::vector<double>& weights);

// Returns the Kullback-Leibler divergence KL(softmax(logits) || softmax(others)) in the same form:
// its mean over the samples, in which each counts as much as its label's weight, and the sum of
// these weights.
[[nodiscard]] Loss class_divergence(const at::Tensor& logits,
                                    const at::Tensor& others,
                                    const at::Tensor& labels,
                                    const std::vector<double>& weights);

// Returns the mean over the samples of the mean binary cross entropy over the labels, and the
// number of samples. `logits`: [rows, labels]; `answers`: the same shape, 1 or 0, perhaps on the
// CPU; `weights`: of the answer 1 of each label, as the argument pos_weight of
// torch.nn.BCEWithLogitsLoss, or empty.
//
// Label smoothing E turns the answers into 1 - E/2 and E/2. The focal loss is (1 - p)^gamma times
// the cross entropy, p being the probability of the true answer (Lin et al., 2017, "Focal loss for
// dense object detection").
[[nodiscard]] Loss multi_label_loss(const at::Tensor& logits,
                                    const at::Tensor& answers,
                                    const ClassLossOptions& options,
                                    const std::vector<double>& weights);

// Returns the mean over the samples of the mean over the labels of the Kullback-Leibler divergence
// KL(sigmoid(logits) || sigmoid(others)) of two answers, and the number of samples.
[[nodiscard]] Loss multi_label_divergence(const at::Tensor& logits, const at::Tensor& others);

}  // namespace bp::trainer

// The update rules of the optimizers that bert_train itself has, besides AdamW.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bp/torch/elementwise.h"
#include "bp/trainer/custom_optimizer.h"
#include "trainer/optim/optimizer_options.h"

namespace bp::trainer {

// One step of this rank's part of a parameter.
struct PartUpdate {
  ParameterParts::Place place = {};
  at::Tensor part = {};
  at::Tensor gradient = {};
  std::vector<at::Tensor> moments = {};
  OptimizerStep step = {};
};

// A rule that needs sums over whole parameters.
class PartRule {
 public:
  virtual ~PartRule() = default;

  // Collective. Together the owners of the parts make the updates of the whole parameters.
  virtual void update_parts(std::span<PartUpdate> updates, const ParameterParts& parts) const = 0;
};

// Returns the rule of --optimizer `name`; null for AdamW and for another name.
//
// "adadelta": Adadelta (Zeiler 2012, arXiv:1212.5701) as torch.optim.Adadelta has it: g = g + decay
// p; s = rho s + (1 - rho) g^2; x = sqrt(d + epsilon) / sqrt(s + epsilon) g; d = rho d + (1 - rho)
// x^2; p = p - lr x.
//
// "adam": Adam (Kingma and Ba 2015, arXiv:1412.6980) with the weight decay of torch.optim.Adam,
// which is added to the gradient (L2): g + decay p. LibTorch's fused kernel computes it, as for
// AdamW.
//
// "lamb": LAMB (You et al. 2019, arXiv:1904.00962, algorithm 2) with the bias correction and the
// decoupled weight decay of NVIDIA's FusedLAMB (apex): u = m' / (sqrt(v') + epsilon) + decay p;
// p = p - lr ratio u, where ratio = |p| / |u| of a whole matrix, and 1 where a norm is 0. Biases
// and norms have the ratio 1, as in the authors' BERT (exclude_from_layer_adaptation) and in
// FusedLAMB. The gradient is not normalised before: --clip limits its norm.
//
// "lion": Lion (Chen et al. 2023, arXiv:2302.06675, algorithm 2), with decoupled weight decay:
// p = p - lr (sign(beta1 m + (1 - beta1) g) + decay p); m = beta2 m + (1 - beta2) g.
//
// "sgd": SGD as torch.optim.SGD has it, without dampening: g = g + decay p; b = momentum b + g;
// p = p - lr b, or p - lr (g + momentum b) with nesterov. Without momentum it keeps nothing.
// LibTorch's fused kernel computes it.
[[nodiscard]] std::shared_ptr<const CustomOptimizer> make_rule(const std::string& name,
                                                               const OptimizerOptions& options);

}  // namespace bp::trainer

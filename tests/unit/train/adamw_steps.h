// Steps that change the weights and moments of a model without a forward pass.
#pragma once

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <torch/optim/optimizer.h>

#include <memory>

#include "trainer/model/bert.h"
#include "trainer/optim/adamw.h"

namespace bp::trainer::test {

inline std::unique_ptr<torch::optim::Optimizer> adamw_of(const Bert& model) {
  DecayGroup all{{}, 0.01};
  for (const auto& [name, parameter] : model.parameters()) all.parameters.push_back(parameter);
  return make_fused_adamw({all}, {});
}

// Makes a step whose gradients depend on the parameters alone.
inline void make_step(const Bert& model, torch::optim::Optimizer& optimizer) {
  for (const auto& [name, parameter] : model.parameters()) {
    parameter.mutable_grad() = parameter.detach() * 0.3 + 0.1;
  }
  optimizer.step();
}

}  // namespace bp::trainer::test

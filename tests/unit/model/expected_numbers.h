// Compares what a model computes, and the gradient, with numbers of transformers for weights that
// are a formula (small_families.h).
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "tests/unit/model/small_families.h"
#include "trainer/batches/batch.h"
#include "trainer/model/bert.h"

namespace bp::trainer {

inline std::unique_ptr<Bert> model_of(const EncoderSpec& spec, const HeadMaker& head) {
  auto model = std::make_unique<Bert>(spec, head, Precision::fp32, 1);
  set_by_formula(*model);
  return model;
}

inline double gradient_norm(const Bert& model) {
  double squares = 0;
  for (const auto& [name, parameter] : model.parameters()) {
    squares += parameter.grad().to(at::kDouble).square().sum().item<double>();
  }
  return std::sqrt(squares);
}

// `first`: of the outputs.
inline void expect_numbers(const Bert& model,
                           const Batch& batch,
                           const std::vector<float>& first,
                           double wanted_loss,
                           double wanted_norm) {
  const TrainingStep step{1, 1};
  const at::Tensor outputs = model.forward(batch, &step);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_NEAR(outputs.const_data_ptr<float>()[i], first[i], 2e-6) << i;
  }
  const at::Tensor loss = model.loss(outputs, batch).mean;
  EXPECT_NEAR(loss.item<double>(), wanted_loss, 3e-6);
  loss.backward();
  EXPECT_NEAR(gradient_norm(model), wanted_norm, 1e-5 * wanted_norm);
}

}  // namespace bp::trainer

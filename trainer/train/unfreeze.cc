#include "trainer/train/unfreeze.h"

#include <cmath>

#include "trainer/optim/model_parts.h"

namespace bp::trainer {

GradualUnfreezing::GradualUnfreezing(const Bert& model, const SaveEvery& every, std::int64_t rows)
    : every_(every), rows_(rows) {
  if (every.by == SaveBy::never) return;
  for (const auto& [name, parameter] : model.parameters()) {
    if (!parameter.requires_grad()) continue;
    parameters_.emplace_back(depth_below_head(name, model.config().layers), parameter);
  }
}

GradualUnfreezing::~GradualUnfreezing() {
  for (const auto& [depth, parameter] : parameters_) parameter.requires_grad_(true);
}

std::int64_t GradualUnfreezing::spans_done(std::int64_t step, const EpochPosition& at) const {
  if (every_.by == SaveBy::steps) return step / every_.steps;
  constexpr double kRounding = 1e-9;  // 0.3 of three parts of 0.1
  const double epochs =
      static_cast<double>(at.epoch) + static_cast<double>(at.used) / static_cast<double>(rows_);
  return static_cast<std::int64_t>(std::floor(epochs / every_.epochs + kRounding));
}

void GradualUnfreezing::apply(std::int64_t step, const EpochPosition& position) const {
  if (parameters_.empty()) return;
  const std::int64_t trained = spans_done(step, position);
  for (const auto& [depth, parameter] : parameters_) parameter.requires_grad_(depth <= trained);
}

}  // namespace bp::trainer

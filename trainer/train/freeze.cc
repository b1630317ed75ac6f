#include "trainer/train/freeze.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "trainer/optim/model_parts.h"

namespace bp::trainer {

void freeze(Bert& model, const std::vector<std::string>& parts) {
  const std::vector<std::string> frozen = frozen_names(parts, model.config().layers);
  for (const auto& [name, parameter] : model.parameters()) {
    const std::string& own = name;
    const bool stays = std::ranges::any_of(
        frozen, [&own](const std::string& begin) { return own.starts_with(begin); });
    if (stays) parameter.requires_grad_(false);
  }
}

}  // namespace bp::trainer

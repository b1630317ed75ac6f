#include "trainer/commands/parameter_groups.h"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/text.h"
#include "trainer/optim/model_parts.h"

namespace bp::trainer {
namespace {

std::string part_of(std::string_view name, int depth, int layers) {
  if (depth > layers) return "embeddings";
  if (depth > 0) return concat("layer ", layers - depth);
  if (name.starts_with("bert.pooler.")) return "pooler";
  return name.starts_with("distillation.") ? "distillation" : "head";
}

}  // namespace

std::vector<ModelPart> parts_of(const Bert& model, const Options& options) {
  const int layers = model.config().layers;
  std::vector<ModelPart> parts;
  for (const auto& [name, parameter] : model.parameters()) {
    const int depth = depth_below_head(name, layers);
    const std::string part = part_of(name, depth, layers);
    if (parts.empty() || parts.back().name != part) {
      parts.push_back({.name = part, .rate = std::pow(options.layer_decay, depth)});
    }
    parts.back().parameters += parameter.numel();
    if (parameter.requires_grad()) parts.back().trained += parameter.numel();
  }
  return parts;
}

}  // namespace bp::trainer

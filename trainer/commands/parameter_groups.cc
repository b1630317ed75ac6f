#include "trainer/commands/parameter_groups.h"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/text.h"
#include "trainer/data/input_error.h"
#include "trainer/data/numbers.h"
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

std::int64_t count_all_parameters(const Bert& model) {
  std::int64_t all = 0;
  for (const auto& [name, parameter] : model.parameters()) all += parameter.numel();
  return all;
}

void check_size(const Bert& model, std::int64_t most) {
  const std::int64_t all = count_all_parameters(model);
  if (most == 0 || all <= most) return;
  constexpr int kExitSkipped = 77;
  throw InputError(kExitSkipped,
                   concat("the model has ", with_commas(all), " parameters, more than ",
                          with_commas(most), " (--max-parameters)"),
                   "choose a smaller one, or a larger limit");
}

}  // namespace bp::trainer

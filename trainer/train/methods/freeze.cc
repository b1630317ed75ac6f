#include "trainer/train/methods/freeze.h"

#include <ATen/core/Tensor.h>

#include <cmath>
#include <string>
#include <string_view>

#include "base/input_error.h"
#include "base/text.h"
#include "trainer/common/numbers.h"
#include "trainer/model/families/family.h"
#include "trainer/optim/model_parts.h"
#include "trainer/optim/schedule.h"

namespace bp::trainer {
namespace {

std::string part_of(std::string_view name, int depth, const EncoderSpec& spec) {
  if (depth > spec.own_layers()) return "embeddings";
  if (depth > 0) return concat("layer ", spec.own_layers() - depth);
  if (name.starts_with(names_of(spec).pooler_part())) return "pooler";
  return name.starts_with("distillation.") ? "distillation" : "head";
}

}  // namespace

void freeze(Bert& model, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    bool trained = model.lora() == nullptr;
    for (const std::string& begin : frozen_names({part}, model.config())) {
      for (const auto& [name, parameter] : model.parameters()) {
        if (!name.starts_with(begin)) continue;
        trained = trained || parameter.requires_grad();
        parameter.requires_grad_(false);
      }
    }
    if (trained) continue;
    throw InputError(2, concat("--freeze ", part, " has no effect: --lora trains nothing in it"),
                     concat("leave out ", part));
  }
}

void choose_gradients(Bert& model, const std::vector<std::string>& frozen) {
  freeze(model, frozen);
  model.use_sparse_gradients();
}

GradualUnfreezing::GradualUnfreezing(const Bert& model,
                                     const std::optional<Interval>& every,
                                     std::int64_t rows)
    : every_(every), rows_(rows) {
  if (!every) return;
  const std::vector<std::string> layers = layers_of(model.config());
  for (const auto& [name, parameter] : model.parameters()) {
    if (!parameter.requires_grad()) continue;
    parameters_.emplace_back(depth_below_head(name, layers), parameter);
  }
}

GradualUnfreezing::~GradualUnfreezing() {
  for (const auto& [depth, parameter] : parameters_) parameter.requires_grad_(true);
}

void GradualUnfreezing::apply(std::int64_t step, const EpochPosition& position) const {
  if (parameters_.empty()) return;
  const std::int64_t trained = every_->by == IntervalBy::steps
                                   ? step / every_->steps
                                   : spans_done(every_->epochs, position, rows_);
  for (const auto& [depth, parameter] : parameters_) parameter.requires_grad_(depth <= trained);
}

std::vector<ModelPart> parts_of(const Bert& model, const TrainOptions& options) {
  if (options.layer_decay != 1 && model.config().shares_layers) {
    throw InputError(2,
                     concat("--layer-decay: the layers of a model of the family '",
                            model.config().family, "' share their weights, which have one rate"),
                     "leave it out");
  }
  const std::vector<std::string> layers = layers_of(model.config());
  std::vector<ModelPart> parts;
  for (const auto& [name, parameter] : model.parameters()) {
    const int depth = depth_below_head(name, layers);
    const std::string part = part_of(name, depth, model.config());
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

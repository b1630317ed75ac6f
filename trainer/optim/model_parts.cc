#include "trainer/optim/model_parts.h"

#include <algorithm>
#include <optional>

#include "base/input_error.h"
#include "base/options/value_text.h"
#include "base/text.h"
#include "trainer/model/families/family.h"

namespace bp::trainer {
namespace {

std::optional<int> part_number(std::string_view text) {
  const auto number = number_in<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

// Returns null for a parameter of no encoder.
const WeightNames* names_with(std::string_view parameter) {
  const auto found = std::ranges::find_if(families(), [&](const Family* family) {
    return parameter.starts_with(family->names.prefix);
  });
  return found == families().end() ? nullptr : &(*found)->names;
}

// Returns -1 for a parameter of no layer.
int layer_of(std::string_view name) {
  const WeightNames* const names = names_with(name);
  if (names == nullptr || !name.starts_with(names->prefix + names->layers)) return -1;
  name.remove_prefix(names->prefix.size() + names->layers.size());
  return part_number(name.substr(0, name.find('.'))).value_or(-1);
}

bool is_embedding(std::string_view name) {
  const WeightNames* const names = names_with(name);
  if (names == nullptr) return false;
  return std::ranges::any_of(names->embedding_parts(),
                             [&](const std::string& part) { return name.starts_with(part); });
}

struct LayerRange {
  int first = 0;
  int last = 0;
};

// Reads "3" or "0-3".
std::optional<LayerRange> range_in(std::string_view text) {
  const std::size_t dash = text.find('-');
  const auto first = part_number(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : part_number(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return LayerRange{*first, *last};
}

}  // namespace

std::vector<std::string> frozen_names(const std::vector<std::string>& parts,
                                      const EncoderSpec& spec) {
  const WeightNames& model = names_of(spec);
  std::vector<std::string> names;
  for (const std::string& part : parts) {
    if (part == "embeddings") {
      const std::vector<std::string> all = model.embedding_parts();
      names.insert(names.end(), all.begin(), all.end());
      continue;
    }
    if (part == "encoder" || part == "pooler") {
      names.push_back(part == "encoder" ? model.prefix + model.layers : model.pooler_part());
      continue;
    }
    const auto range = range_in(part);
    if (!range) {
      throw InputError(2, concat("--freeze: '", part, "' is not part of a model"),
                       "embeddings, encoder, pooler, and layers from 0: --freeze embeddings,0-3");
    }
    if (const int layers = spec.own_layers(); range->last >= layers) {
      throw InputError(2,
                       concat("--freeze: there is no layer ", range->last, " in a model with ",
                              layers, layers == 1 ? " layer" : " layers"),
                       spec.shares_layers ? "all layers have the weights of layer 0"
                                          : concat("its layers are 0 to ", layers - 1));
    }
    for (int layer = range->first; layer <= range->last; ++layer) {
      names.push_back(model.layer(layer));
    }
  }
  return names;
}

int depth_below_head(std::string_view name, int layers) {
  if (is_embedding(name)) return layers + 1;
  const int layer = layer_of(name);
  return layer < 0 ? 0 : layers - layer;
}

bool is_of_norm(std::string_view name) {
  const std::string_view module = name.substr(0, name.rfind('.'));
  return module.ends_with(".norm") || module.ends_with("_norm") ||
         name.find("LayerNorm") != std::string_view::npos ||
         name.find("layer_norm") != std::string_view::npos;
}

int layers_in(const std::vector<std::string>& names) {
  int layers = 0;
  for (const std::string& name : names) layers = std::max(layers, layer_of(name) + 1);
  return layers;
}

}  // namespace bp::trainer

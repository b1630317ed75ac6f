#include "trainer/optim/model_parts.h"

#include <algorithm>
#include <array>
#include <cstddef>
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

// Returns what the names of all parameters of a parameter's layer begin with; "" for one of none.
std::string_view layer_of(std::string_view name) {
  for (const Family* const family : families()) {
    const WeightNames& names = family->names;
    for (const std::string& layers : {names.layers, names.decoder_layers}) {
      if (layers.empty() || !name.starts_with(names.prefix + layers)) continue;
      const std::size_t begin = names.prefix.size() + layers.size();
      return name.substr(0, name.find('.', begin) + 1);
    }
  }
  return {};
}

bool is_embedding(std::string_view name) {
  return std::ranges::any_of(families(), [&](const Family* family) {
    return std::ranges::any_of(family->names.embedding_parts(),
                               [&](const std::string& part) { return name.starts_with(part); });
  });
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
      names.push_back(model.layer(spec, layer));
    }
  }
  return names;
}

std::vector<std::string> layers_of(const EncoderSpec& spec) {
  std::vector<std::string> layers;
  for (int i = 0; i < spec.own_layers(); ++i) layers.push_back(names_of(spec).layer(spec, i));
  return layers;
}

std::vector<std::string> layers_in(const std::vector<std::string>& names) {
  std::vector<std::string> layers;
  for (const std::string& name : names) {
    const std::string_view layer = layer_of(name);
    if (!layer.empty() && std::ranges::count(layers, layer) == 0) layers.emplace_back(layer);
  }
  return layers;
}

int depth_below_head(std::string_view name, const std::vector<std::string>& layers) {
  const auto count = static_cast<int>(layers.size());
  if (is_embedding(name)) return count + 1;
  return count - static_cast<int>(std::ranges::find(layers, layer_of(name)) - layers.begin());
}

bool is_of_norm(std::string_view name) {
  const std::string_view module = name.substr(0, name.rfind('.'));
  if (module.ends_with(".norm") || module.ends_with("_norm")) return true;
  return std::ranges::any_of(std::array{"LayerNorm", "layer_norm", "layernorm"},
                             [&](auto part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace bp::trainer

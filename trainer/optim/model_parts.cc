#include "trainer/optim/model_parts.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "base/input_error.h"
#include "base/text.h"

namespace bp::trainer {
namespace {

constexpr std::string_view kEmbeddings = "bert.embeddings.";
constexpr std::string_view kLayers = "bert.encoder.layer.";
constexpr std::string_view kPooler = "bert.pooler.";

std::optional<int> part_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool all = error == std::errc() && end == text.data() + text.size() && number >= 0;
  return all ? std::optional(number) : std::nullopt;
}

// Returns -1 for a parameter of no layer.
int layer_of(std::string_view name) {
  if (!name.starts_with(kLayers)) return -1;
  name.remove_prefix(kLayers.size());
  return part_number(name.substr(0, name.find('.'))).value_or(-1);
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

std::vector<std::string> frozen_names(const std::vector<std::string>& parts, int layers) {
  std::vector<std::string> names;
  for (const std::string& part : parts) {
    if (part == "embeddings" || part == "encoder" || part == "pooler") {
      names.emplace_back(part == "embeddings" ? kEmbeddings
                         : part == "encoder"  ? kLayers
                                              : kPooler);
      continue;
    }
    const auto range = range_in(part);
    if (!range) {
      throw InputError(2, concat("--freeze: '", part, "' is not part of a model"),
                       "embeddings, encoder, pooler, and layers from 0: --freeze embeddings,0-3");
    }
    if (range->last >= layers) {
      throw InputError(2,
                       concat("--freeze: there is no layer ", range->last, " in a model with ",
                              layers, layers == 1 ? " layer" : " layers"),
                       concat("its layers are 0 to ", layers - 1));
    }
    for (int layer = range->first; layer <= range->last; ++layer) {
      names.push_back(concat(kLayers, layer, "."));
    }
  }
  return names;
}

int depth_below_head(std::string_view name, int layers) {
  if (name.starts_with(kEmbeddings)) return layers + 1;
  const int layer = layer_of(name);
  return layer < 0 ? 0 : layers - layer;
}

int layers_in(const std::vector<std::string>& names) {
  int layers = 0;
  for (const std::string& name : names) layers = std::max(layers, layer_of(name) + 1);
  return layers;
}

}  // namespace bp::trainer

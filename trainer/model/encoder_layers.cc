// The layers of an encoder.
#include <ATen/TensorOperators.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/cat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "trainer/model/encoder.h"
#include "trainer/model/families/family.h"
#include "trainer/model/relative_positions.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// The dropout sites of a layer. The last one belongs to what its last product reads.
constexpr std::uint32_t kProbabilitySite = 0;
constexpr std::uint32_t kAttentionSite = 1;
constexpr std::uint32_t kOutputSite = 2;
constexpr std::uint32_t kLayerSites = 3;

// Reports the activations of a layer.
struct Observer {
  const Pass& pass;
  std::size_t layer;
  Tensor operator()(const char* name, Tensor x) const {
    if (pass.step == nullptr) return x;
    return pass.seen(concat("encoder.layer.", layer, ".", name), std::move(x));
  }
};

Heads heads_for(const EncoderSpec& spec, bool first_only = false) {
  return {.count = spec.heads,
          .size = spec.hidden / spec.heads,
          .disentangled = spec.position_buckets > 0,
          .first_only = first_only};
}

// Returns `x` for a norm that there is not.
Tensor norm(const LayoutPtr& layout, const Tensor& x, const Norm& by) {
  return by.gamma.defined() ? add_norm(layout, x, {}, {}, by, {}) : x;
}

}  // namespace

std::uint32_t Encoder::site_of(std::size_t layer) const {
  return kFirstLayerSite + static_cast<std::uint32_t>(layer) * attentions() * kLayerSites;
}

std::uint32_t Encoder::adapter_site(int layer) const {
  return kFirstAdapterSite + static_cast<std::uint32_t>(layer) * attentions() * kAdaptersOfLayer;
}

Encoder::Layer Encoder::make_layer(int number, Parameters& parameters) const {
  const WeightNames& names = names_of(spec_);
  const std::string name = names.layer(spec_, number);
  const std::int64_t hidden = spec_.hidden;
  const bool biases = !spec_.pre_norm;
  const auto norm = [&](const std::string& module) {
    return parameters.norm(name + module, hidden, spec_.norm_epsilon, biases);
  };
  const auto linear = [&](const std::string& module, std::int64_t out, std::int64_t in,
                          std::optional<double> deviation = {}) {
    return parameters.linear(name + module, out, in, biases, deviation);
  };
  const std::optional<double> smaller = spec_.branch_deviation();
  const auto square = [&](const std::string& module) { return linear(module, hidden, hidden); };
  Layer l;
  l.qkv = linear(names.merged_qkv, 3 * hidden, hidden);
  l.attention_output = linear(names.attention_output, hidden, hidden, smaller);
  // The embeddings are normed already.
  if (!spec_.pre_norm || number > 0) l.attention_norm = norm(names.attention_norm);
  if (spec_.is_of_decoder(static_cast<std::size_t>(number))) {
    l.cross.emplace();
    for (const std::string& module : names.cross_qkv) l.cross->qkv.push_back(square(module));
    l.cross->output = square(names.cross_output);
    l.cross->norm = norm(names.cross_norm);
  }
  const std::int64_t widths = spec_.gated ? 2 : 1;
  l.intermediate = linear(names.intermediate, widths * spec_.intermediate, hidden);
  l.output = linear(names.output, hidden, spec_.intermediate, smaller);
  l.norm = norm(names.output_norm);
  std::uint32_t site = adapter_site(number);
  const std::vector<std::string> modules = names.products(l.cross.has_value());
  std::span<const std::string> left = modules;
  for (Linear* const product : products_of(l)) {
    const std::size_t parts = product == &l.qkv ? names.qkv.size() : 1;
    adapt(*product, name, left.first(parts), site, parameters);
    left = left.subspan(parts);
  }
  return l;
}

// Each module has a dropout site of its own, whichever others have adapters.
void Encoder::adapt(Linear& linear,
                    const std::string& layer,
                    std::span<const std::string> modules,
                    std::uint32_t& site,
                    Parameters& parameters) const {
  const auto parts = static_cast<std::int64_t>(modules.size());
  const std::int64_t out = linear.weight.master.size(0) / parts;
  std::int64_t begin = 0;
  for (const std::string& module : modules) {
    const std::string name = layer + module;
    if (lora_ != nullptr && lora_->adapts(name)) {
      Adapter adapter =
          parameters.adapter(name, out, linear.weight.master.size(1), lora_->rank_of(name));
      adapter.scale = lora_->scale_of(name);
      adapter.begin = begin;
      adapter.site = site;
      linear.adapters.push_back(std::move(adapter));
    }
    begin += out;
    ++site;
  }
}

Tensor Encoder::attend(const Pass& pass,
                       std::size_t index,
                       const Tensor& x,
                       bool first_only) const {
  const Linear& qkv = layer_at(index).qkv;
  const bool local = spec_.is_local(index);
  const std::uint32_t site = site_of(index);
  const Dropout dropout = pass.dropout(spec_.attention_dropout, site + kProbabilitySite);
  Tensor y = pass.product(pass.layout, x, qkv, shared_by(index));
  if (spec_.rope_theta > 0) y = rotate(pass.layout, y, local ? local_rotation_ : rotation_);
  Heads heads = heads_for(spec_, first_only);
  const int reach = spec_.local_attention / 2;
  if (local) heads.window = {.before = reach, .after = reach};
  // In reverse order, these are the tokens before it.
  if (spec_.is_of_decoder(index)) heads.window.before = 0;
  return attention(pass.layout, y, qkv.bias, heads, dropout, relative_scores(pass, index, y));
}

// The rows of distances are a text of their own. Dropout draws for the place of each in the table.
Tensor Encoder::relative_scores(const Pass& pass, std::size_t index, const Tensor& qkv) const {
  if (spec_.position_buckets == 0) return pass.relative;
  const Linear& linear = layer_at(index).qkv;
  const Dropout dropout = pass.dropout(spec_.hidden_dropout, site_of(index) + kOutputSite);
  const Tensor rows = drop(pass.relative_layout, pass.relative, dropout);
  const Tensor projected = pass.product(pass.relative_layout, rows, linear, shared_by(index));
  return scores_by_distance(qkv, projected, linear.bias, heads_for(spec_));
}

Tensor Encoder::attend_to_encoder(const Pass& pass,
                                  std::size_t index,
                                  const Tensor& x,
                                  bool first_only) const {
  const Cross& c = *layer_at(index).cross;
  const LayoutPtr& layout = first_only ? pass.first_layout : pass.layout;
  const std::uint32_t site = site_of(index) + kLayerSites;
  // Autograd adds up a layer's gradients here, whether the layer is recomputed or not.
  const Tensor encoded = at::alias(pass.encoded);
  const Tensor query = pass.product(layout, x, c.qkv[0]);
  const Tensor qkv = at::cat(
      {first_only ? at_firsts(query, *pass.layout) : query,
       pass.product(pass.layout, encoded, c.qkv[1]), pass.product(pass.layout, encoded, c.qkv[2])},
      1);
  const Tensor bias = at::cat({c.qkv[0].bias, c.qkv[1].bias, c.qkv[2].bias});
  const Tensor y = attention(pass.layout, qkv, bias, heads_for(spec_, first_only),
                             pass.dropout(spec_.attention_dropout, site + kProbabilitySite));
  return add_norm(layout, pass.product(layout, y, c.output), c.output.bias, x, c.norm,
                  pass.dropout(spec_.hidden_dropout, site + kAttentionSite));
}

Tensor Encoder::widen(const Pass& pass,
                      const LayoutPtr& layout,
                      const Tensor& x,
                      std::size_t index) const {
  const Linear& linear = layer_at(index).intermediate;
  const Tensor y = pass.product(layout, x, linear, shared_by(index));
  return spec_.gated ? gated_gelu(y)
                     : bias_gelu(y, linear.bias, spec_.activation == Activation::gelu_tanh);
}

// A layer norms what its products read, or the sums of what it reads and what it computes. In the
// first case dropout of what attention adds has the share of its probabilities, as in transformers.
Tensor Encoder::layer(const Pass& pass, std::size_t index, const Tensor& x, bool first_only) const {
  const Layer& l = layer_at(index);
  const bool pre_norm = spec_.pre_norm;
  const Observer seen{.pass = pass, .layer = index};
  const LayoutPtr& layout = first_only ? pass.first_layout : pass.layout;
  const auto read = [&](const LayoutPtr& of_states, const Tensor& states, const Norm& by) {
    return pre_norm ? norm(of_states, states, by) : states;
  };
  const auto sum = [&](const Tensor& states, const Tensor& y, const Linear& linear, const Norm& by,
                       const Dropout& dropout) {
    const Tensor added = pass.product(layout, y, linear, shared_by(index));
    return pre_norm ? states + drop(layout, added, dropout)
                    : add_norm(layout, added, linear.bias, states, by, dropout);
  };
  const auto dropout = [&](double share, std::uint32_t site) {
    return pass.dropout(share, site_of(index) + site);
  };

  Tensor y = attend(pass, index, read(pass.layout, x, l.attention_norm), first_only);
  y = seen("attention.self", y);
  const Tensor residual = first_only ? firsts_of(x, *pass.layout) : x;
  const double of_attention = pre_norm ? spec_.attention_dropout : spec_.hidden_dropout;
  Tensor attended = seen("attention.output", sum(residual, y, l.attention_output, l.attention_norm,
                                                 dropout(of_attention, kAttentionSite)));
  if (l.cross) {
    attended = seen("crossattention.output", attend_to_encoder(pass, index, attended, first_only));
  }
  y = widen(pass, layout, read(layout, attended, l.norm), index);
  y = drop(layout, y, dropout(spec_.intermediate_dropout, attentions() * kLayerSites - 1));
  y = seen("intermediate", y);
  y = sum(attended, y, l.output, l.norm, dropout(pre_norm ? 0 : spec_.hidden_dropout, kOutputSite));
  const bool is_last = static_cast<int>(index) + 1 == spec_.layers;
  return seen("output", is_last ? norm(layout, y, final_norm_) : y);
}

}  // namespace bp::trainer

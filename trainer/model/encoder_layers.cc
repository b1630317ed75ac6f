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

// Returns `x` for a norm that there is not.
Tensor norm(const LayoutPtr& layout, const Tensor& x, const Norm& by) {
  return by.gamma.defined() ? add_norm(layout, x, {}, {}, by, {}) : x;
}

}  // namespace

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
  const double smaller = spec_.branch_deviation();
  const auto square = [&](const std::string& module) { return linear(module, hidden, hidden); };
  Layer l;
  const std::size_t first = parameters.all().size();
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
  for (const auto& [own, parameter] : std::span(parameters.all()).subspan(first)) {
    l.parameters.push_back(parameter);
  }
  return l;
}

std::vector<Linear*> Encoder::products_of(Layer& layer) {
  std::vector<Linear*> all = {&layer.qkv, &layer.attention_output, &layer.intermediate,
                              &layer.output};
  if (!layer.cross) return all;
  for (Linear& linear : layer.cross->qkv) all.push_back(&linear);
  all.push_back(&layer.cross->output);
  return all;
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

// One layer in a pass.
class Encoder::LayerPass {
 public:
  LayerPass(const Encoder& encoder, const Pass& pass, std::size_t index, bool first_only)
      : encoder_(encoder),
        spec_(encoder.spec_),
        layer_(encoder.layer_at(index)),
        pass_(pass),
        index_(index),
        first_only_(first_only),
        layout_(first_only ? pass.first_layout : pass.layout) {}

  // A layer norms what its products read, or the sums of what it reads and what it computes. In the
  // first case dropout of what attention adds has the share of its probabilities, as in
  // transformers.
  Tensor operator()(const Tensor& x) const {
    const double of_attention = spec_.pre_norm ? spec_.attention_dropout : spec_.hidden_dropout;
    const double of_output = spec_.pre_norm ? 0 : spec_.hidden_dropout;
    Tensor y = seen("attention.self", attend(read(pass_.layout, x, layer_.attention_norm)));
    const Tensor residual = first_only_ ? firsts_of(x, *pass_.layout) : x;
    Tensor attended =
        seen("attention.output", sum(residual, y, layer_.attention_output, layer_.attention_norm,
                                     dropout(of_attention, kAttentionSite)));
    if (layer_.cross) attended = seen("crossattention.output", attend_to_encoder(attended));
    y = drop(layout_, widen(read(layout_, attended, layer_.norm)),
             dropout(spec_.intermediate_dropout, encoder_.attentions() * kLayerSites - 1));
    y = seen("intermediate", y);
    y = sum(attended, y, layer_.output, layer_.norm, dropout(of_output, kOutputSite));
    const bool is_last = static_cast<int>(index_) + 1 == spec_.layers;
    return seen("output", is_last ? norm(layout_, y, encoder_.final_norm_) : y);
  }

 private:
  [[nodiscard]] Tensor product(const LayoutPtr& layout, const Tensor& x, const Linear& by) const {
    return pass_.product(layout, x, by, encoder_.shared_by(index_));
  }
  [[nodiscard]] Dropout dropout(double share, std::uint32_t site) const {
    const std::uint32_t own = encoder_.attentions() * kLayerSites;
    return pass_.dropout(share, kFirstLayerSite + static_cast<std::uint32_t>(index_) * own + site);
  }
  // Reports an activation.
  [[nodiscard]] Tensor seen(const char* name, Tensor x) const {
    if (pass_.step == nullptr) return x;
    return pass_.seen(concat("encoder.layer.", index_, ".", name), std::move(x));
  }
  [[nodiscard]] Heads heads() const {
    return {.count = spec_.heads,
            .size = spec_.hidden / spec_.heads,
            .disentangled = spec_.position_buckets > 0,
            .first_only = first_only_};
  }

  [[nodiscard]] Tensor read(const LayoutPtr& layout, const Tensor& x, const Norm& by) const {
    return spec_.pre_norm ? norm(layout, x, by) : x;
  }
  // Returns the sum of `x` and the product of `y`.
  [[nodiscard]] Tensor sum(const Tensor& x,
                           const Tensor& y,
                           const Linear& linear,
                           const Norm& by,
                           const Dropout& drops) const {
    const Tensor added = product(layout_, y, linear);
    return spec_.pre_norm ? x + drop(layout_, added, drops)
                          : add_norm(layout_, added, linear.bias, x, by, drops);
  }

  // Returns what the tokens of `x` take from those that they see.
  [[nodiscard]] Tensor attend(const Tensor& x) const {
    const Linear& qkv = layer_.qkv;
    const bool local = spec_.is_local(index_);
    Tensor y = product(pass_.layout, x, qkv);
    if (spec_.rope_theta > 0) {
      y = rotate(pass_.layout, y, local ? encoder_.local_rotation_ : encoder_.rotation_);
    }
    Heads own = heads();
    const int reach = spec_.local_attention / 2;
    if (local) own.window = {.before = reach, .after = reach};
    // In reverse order, these are the tokens before it.
    if (spec_.is_of_decoder(index_)) own.window.before = 0;
    return attention(pass_.layout, y, qkv.bias, own,
                     dropout(spec_.attention_dropout, kProbabilitySite), relative_scores(y));
  }
  // Returns what attention adds to the scores for distances. `qkv`: without its bias.
  // The rows of distances are a text of their own. Dropout draws for the place of each in the
  // table.
  [[nodiscard]] Tensor relative_scores(const Tensor& qkv) const {
    if (spec_.position_buckets == 0) return pass_.relative;
    const LayoutPtr& layout = pass_.relative_layout;
    const Tensor rows = drop(layout, pass_.relative, dropout(spec_.hidden_dropout, kOutputSite));
    return scores_by_distance(qkv, product(layout, rows, layer_.qkv), layer_.qkv.bias, heads());
  }
  // The same as attend(), and norms the sum, for the states of the encoder.
  [[nodiscard]] Tensor attend_to_encoder(const Tensor& x) const {
    const Cross& c = *layer_.cross;
    // Autograd adds up a layer's gradients here, whether the layer is recomputed or not.
    const Tensor encoded = at::alias(pass_.encoded);
    const Tensor query = product(layout_, x, c.qkv[0]);
    const Tensor qkv = at::cat(
        {first_only_ ? at_firsts(query, *pass_.layout) : query,
         product(pass_.layout, encoded, c.qkv[1]), product(pass_.layout, encoded, c.qkv[2])},
        1);
    const Tensor bias = at::cat({c.qkv[0].bias, c.qkv[1].bias, c.qkv[2].bias});
    const Tensor y = attention(pass_.layout, qkv, bias, heads(),
                               dropout(spec_.attention_dropout, kLayerSites + kProbabilitySite));
    return sum(x, y, c.output, c.norm, dropout(spec_.hidden_dropout, kLayerSites + kAttentionSite));
  }
  // Returns the layer's intermediate numbers.
  [[nodiscard]] Tensor widen(const Tensor& x) const {
    const Linear& linear = layer_.intermediate;
    const Tensor y = product(layout_, x, linear);
    return spec_.gated ? gated_gelu(y)
                       : bias_gelu(y, linear.bias, spec_.activation == Activation::gelu_tanh);
  }

  const Encoder& encoder_;
  const EncoderSpec& spec_;
  const Layer& layer_;
  const Pass& pass_;
  std::size_t index_;
  bool first_only_;
  const LayoutPtr& layout_;  // of what it returns
};

Tensor Encoder::layers(const Pass& pass, LayerSpan span, const Tensor& x, States states) const {
  Tensor y = x;
  for (std::size_t i = span.first; i < span.end; ++i) {
    const bool is_last = static_cast<int>(i) + 1 == spec_.layers;
    const std::size_t own = i % layers_.size();
    if (enter_) enter_(own);
    y = LayerPass(*this, pass, i, is_last && states == States::first_tokens)(y);
    if (enter_ && y.requires_grad()) y.register_hook([this, own](const Tensor&) { enter_(own); });
  }
  return y;
}

}  // namespace bp::trainer

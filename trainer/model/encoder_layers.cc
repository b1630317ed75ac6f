// The layers of an encoder.
#include <ATen/TensorOperators.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "trainer/model/encoder.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// The dropout sites of a layer.
constexpr std::uint32_t kProbabilitySite = 0;
constexpr std::uint32_t kAttentionSite = 1;
constexpr std::uint32_t kOutputSite = 2;
constexpr std::uint32_t kLayerSites = 3;

std::uint32_t site_of(std::size_t layer) {
  return kFirstLayerSite + static_cast<std::uint32_t>(layer) * kLayerSites;
}

// Reports the activations of a layer.
struct Observer {
  const Pass& pass;
  std::size_t layer;
  Tensor operator()(const char* name, Tensor x) const {
    if (pass.step == nullptr) return x;
    return pass.seen(concat("encoder.layer.", layer, ".", name), std::move(x));
  }
};

Tensor norm(const LayoutPtr& layout, const Tensor& x, const Norm& by) {
  return by.gamma.defined() ? add_norm(layout, x, {}, {}, by, {}) : x;
}

}  // namespace

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
  kernels::Window window;
  if (local) window = {.before = spec_.local_attention / 2, .after = spec_.local_attention / 2};
  return attention(pass.layout, y, qkv.bias, spec_.heads, first_only, dropout, AttentionWay::faster,
                   window, pass.relative_bias);
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

Tensor Encoder::layer(const Pass& pass, std::size_t index, const Tensor& x, bool first_only) const {
  const Layer& l = layer_at(index);
  const std::uint32_t shared = shared_by(index);
  const std::uint32_t site = site_of(index);
  const double hidden = spec_.hidden_dropout;
  const Observer seen{.pass = pass, .layer = index};

  Tensor y = seen("attention.self", attend(pass, index, x, first_only));
  Tensor residual = x;
  if (first_only) {
    residual = firsts_of(x, *pass.layout);
  }
  const LayoutPtr& layout = first_only ? pass.first_layout : pass.layout;
  const Tensor attended =
      seen("attention.output", add_norm(layout, pass.product(layout, y, l.attention_output, shared),
                                        l.attention_output.bias, residual, l.attention_norm,
                                        pass.dropout(hidden, site + kAttentionSite)));
  y = seen("intermediate", widen(pass, layout, attended, index));
  return seen("output", add_norm(layout, pass.product(layout, y, l.output, shared), l.output.bias,
                                 attended, l.norm, pass.dropout(hidden, site + kOutputSite)));
}

Tensor Encoder::pre_norm_layer(const Pass& pass,
                               std::size_t index,
                               const Tensor& x,
                               bool first_only) const {
  const Layer& l = layer_at(index);
  const std::uint32_t shared = shared_by(index);
  const std::uint32_t site = site_of(index);
  const auto dropped = [&](const LayoutPtr& layout, const Tensor& y, double share,
                           std::uint32_t place) {
    return drop(layout, y, pass.dropout(share, site + place));
  };
  const Observer seen{.pass = pass, .layer = index};
  const LayoutPtr& layout = first_only ? pass.first_layout : pass.layout;
  const Tensor residual = first_only ? firsts_of(x, *pass.layout) : x;

  Tensor y = attend(pass, index, norm(pass.layout, x, l.attention_norm), first_only);
  y = pass.product(layout, seen("attention.self", y), l.attention_output, shared);
  const Tensor attended = seen(
      "attention.output", residual + dropped(layout, y, spec_.attention_dropout, kAttentionSite));
  y = widen(pass, layout, norm(layout, attended, l.norm), index);
  y = seen("intermediate", dropped(layout, y, spec_.gated_dropout, kOutputSite));
  y = attended + pass.product(layout, y, l.output, shared);
  return seen("output",
              static_cast<int>(index) + 1 == spec_.layers ? norm(layout, y, final_norm_) : y);
}

}  // namespace bp::trainer

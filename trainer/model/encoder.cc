#include "trainer/model/encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/batch_tokens.h"
#include "trainer/model/families/family.h"
#include "trainer/model/passes/device_layout.h"
#include "trainer/model/passes/device_of.h"
#include "trainer/model/passes/products.h"
#include "trainer/model/passes/recompute.h"
#include "trainer/model/relative_positions.h"

namespace bp::trainer {
namespace {

using at::Tensor;

at::ScalarType number_of(Precision precision) {
  BP_CHECK(precision != Precision::automatic, "a run chooses the precision before the model");
  if (precision == Precision::bf16) return at::kBFloat16;
  return precision == Precision::fp16 ? at::kHalf : at::kFloat;
}

Tensor activated(Pooling pooling, const Tensor& x) {
  switch (pooling) {
    case Pooling::relu:
      return at::relu(x);
    case Pooling::gelu:
      return at::gelu(x);
    case Pooling::tanh:
      break;
  }
  return at::tanh(x);
}

// On a device one kernel casts many weights.
void cast_together(const std::vector<Weight*>& weights, at::ScalarType number) {
  std::vector<Tensor> to;
  std::vector<Tensor> from;
  for (Weight* const weight : weights) {
    from.push_back(weight->master.detach());
    weight->compute = at::empty_like(from.back(), from.back().options().dtype(number));
    to.push_back(weight->compute);
  }
  at::_foreach_copy_(to, from);
}

}  // namespace

Encoder::Encoder(const EncoderSpec& spec,
                 Precision precision,
                 const LoraConfig* lora,
                 Parameters& parameters)
    : spec_(spec), lora_(lora), number_(number_of(precision)) {
  BP_CHECK(spec.decoder_layers < spec.layers, "a decoder reads what the layers below it compute");
  const WeightNames& names = names_of(spec);
  const std::int64_t hidden = spec.hidden;
  const std::int64_t width = spec.embedding_width();
  const bool biases = !spec.pre_norm;
  const auto norm = [&](const std::string& name, std::int64_t size) {
    return parameters.norm(name, size, spec.norm_epsilon, biases);
  };
  const auto table = [&](const std::string& name, std::int64_t rows) {
    return parameters.matrix(names.prefix + name + ".weight", {rows, width});
  };
  words_ = table(names.words, spec.vocabulary);
  words_.slice(0, spec.pad_id, spec.pad_id + 1).zero_();
  const auto positions = [&](const std::string& name) {
    return name.empty() ? at::zeros({1, width}, words_.options())
                        : table(name, std::int64_t{spec.positions} + spec.unused_positions);
  };
  encoder_.positions = positions(names.positions);
  types_ = names.types.empty() ? at::zeros({spec.token_types, width}, words_.options())
                               : table(names.types, spec.token_types);
  encoder_.norm = norm(names.prefix + names.embedding_norm, width);
  if (spec.has_decoder()) {
    decoder_.positions = positions(names.decoder_positions);
    decoder_.norm = norm(names.prefix + names.decoder_norm, width);
    decoder_.site = kDecoderSite;
  }
  if (spec.rope_theta > 0) {
    const auto rotation = [&](double theta) {
      const Tensor angles = rotary_angles(theta, hidden / spec.heads);
      return make_rotation(angles, spec.max_tokens(), words_.device());
    };
    rotation_ = rotation(spec.rope_theta);
    local_rotation_ = rotation(spec.local_rope_theta);
  }
  if (spec.has_projection()) {
    projection_ = parameters.linear(names.prefix + names.projection, hidden, width, biases);
  }
  if (spec.relative_bias) {
    relative_ = parameters.matrix(names.prefix + names.relative + ".weight",
                                  {kRelativeBuckets, spec.heads});
  }
  if (spec.position_buckets > 0) {
    relative_ = table(names.relative, 2 * std::int64_t{spec.position_buckets});
    relative_norm_ = norm(names.prefix + names.relative_norm, hidden);
  }
  for (int i = 0; i < spec.own_layers(); ++i) layers_.push_back(make_layer(i, parameters));
  if (spec.pre_norm) final_norm_ = norm(names.prefix + names.final_norm, hidden);
  pooler_ = parameters.linear(names.pooler, hidden, hidden, biases, spec.branch_deviation());
  if (!names.pooler_norm.empty()) pooler_norm_ = norm(names.pooler_norm, hidden);
  std::uint32_t site = adapter_site(spec.layers);
  if (names.encoder_has_pooler()) adapt(pooler_, "", {&names.pooler, 1}, site, parameters);
  parameters_changed();
}

std::vector<Linear*> Encoder::products() {
  std::vector<Linear*> all;
  if (projection_) all.push_back(&*projection_);
  for (Layer& l : layers_) {
    for (Linear* const linear : products_of(l)) all.push_back(linear);
  }
  return all;
}

// The copies are new tensors each time, because an autograd graph that still exists keeps the
// copies with which it was made.
void Encoder::parameters_changed() {
  is_cast_.assign(layers_.size(), !enter_);
  if (!enter_) return cast(products());
  if (projection_) cast({&*projection_});
}

void Encoder::before_layers(const std::function<void(std::size_t layer)>& enter) {
  enter_ = nullptr;
  if (!enter) return;
  enter_ = [this, enter](std::size_t layer) {
    enter(layer);
    cast_layer(layer);
  };
}

void Encoder::cast_layers() {
  for (std::size_t i = 0; i < layers_.size(); ++i) cast_layer(i);
}

void Encoder::cast_layer(std::size_t layer) {
  if (is_cast_[layer]) return;
  is_cast_[layer] = true;
  cast(products_of(layers_[layer]));
}

void Encoder::cast(const std::vector<Linear*>& products) {
  if (number_ == at::kFloat) return;
  std::vector<Weight*> all;
  for (Linear* const linear : products) {
    all.push_back(&linear->weight);
    for (Adapter& adapter : linear->adapters) all.insert(all.end(), {&adapter.a, &adapter.b});
  }
  if (cast_) return cast_(all, number_);
  if (!words_.is_cpu()) return cast_together(all, number_);
  for (Weight* const weight : all) {
    weight->compute = weight_for_products(weight->master, number_);
  }
}

void Encoder::merge_adapters() {
  const at::NoGradGuard no_grad;
  std::vector<Linear*> all = products();
  all.push_back(&pooler_);
  for (Linear* const linear : all) {
    for (const Adapter& adapter : linear->adapters) {
      const Tensor added = matrix_product(adapter.b.master, adapter.a.master, at::kFloat);
      linear->weight.master.narrow(0, adapter.begin, added.size(0)).add_(added, adapter.scale);
    }
    linear->adapters.clear();
  }
  lora_ = nullptr;
  parameters_changed();
}

Pass Encoder::begin(const Batch& batch, const TrainingStep* step) const {
  BP_CHECK(batch.rows > 0, "a forward pass needs at least one sample");
  if (batch.length > spec_.max_tokens()) {
    throw Error(ErrorCode::invalid_argument,
                concat("a sample of ", batch.length, " tokens is longer than the model's ",
                       spec_.max_tokens(), " positions"));
  }
  Pass pass;
  pass.step = step;
  pass.number = step != nullptr || as_trained_ ? number_ : at::kFloat;
  pass.lora = lora_;
  const c10::Device device = words_.device();
  Layout layout =
      make_layout(batch.lengths, batch.sample_ids, device.is_cpu() ? kTokenMultiple : 1);
  if (spec_.positions_from_pad) {
    layout.position_of_token = positions_after(spec_.pad_id, batch, layout);
  }
  if (spec_.has_decoder()) {
    layout.position_of_token = reversed_positions(spec_.unused_positions, layout);
  }
  if (names_of(spec_).positions.empty()) {
    layout.position_of_token.assign(static_cast<std::size_t>(layout.offsets.back()), 0);
  }
  Layout firsts = first_tokens(layout);
  if (!device.is_cpu()) {
    layout.on_device = make_device_layout(layout, device);
    firsts.on_device = first_tokens(*layout.on_device);
  }
  pass.layout = std::make_shared<Layout>(std::move(layout));
  pass.first_layout = std::make_shared<Layout>(std::move(firsts));
  if (spec_.is_relative()) begin_relative(pass);
  return pass;
}

void Encoder::begin_relative(Pass& pass) const {
  Layout layout = distances_layout(spec_, pass.layout->longest);
  const c10::Device device = relative_.device();
  if (!device.is_cpu()) layout.on_device = make_device_layout(layout, device);
  pass.relative_layout = std::make_shared<Layout>(std::move(layout));
  const Tensor rows = rows_by_distance(relative_, *pass.relative_layout);
  pass.relative =
      spec_.relative_bias
          ? rows.t().contiguous()
          : add_norm(pass.relative_layout, rows, {}, {}, relative_norm_, {}).to(pass.number);
}

Tensor Encoder::token_types(const Pass& pass, const Batch& batch) const {
  if (batch.token_types.empty() || !spec_.has_types()) {
    return at::zeros({pass.layout->offsets.back()}, words_.options().dtype(at::kLong));
  }
  BP_CHECK(batch.token_types.size() == batch.token_ids.size(), "each token has a type");
  for (const std::int64_t type : batch.token_types) {
    if (type < 0 || type >= spec_.token_types) {
      throw Error(ErrorCode::invalid_argument,
                  concat("a token of type ", type, ": the model's 'type_vocab_size' is ",
                         spec_.token_types, ", so its types are 0 to ", spec_.token_types - 1));
    }
  }
  return on_device_of(words_, without_padding(batch.token_types, batch, *pass.layout));
}

Tensor Encoder::embeddings(const Pass& pass,
                           const Tensor& ids,
                           const Tensor& types,
                           const Stack& stack) const {
  // A norm of `scale` times words + positions is one of words + positions / scale.
  const double scale = spec_.scales_words ? std::sqrt(static_cast<double>(spec_.hidden)) : 1;
  const Tensor positions = scale == 1 ? stack.positions : stack.positions / scale;
  Norm norm = stack.norm;
  norm.epsilon /= scale * scale;
  Tensor x = embed(pass.layout, on_device_of(words_, ids), types, words_, positions, types_,
                   sparse_words_, pass.number);
  const bool is_perturbed = pass.step != nullptr && pass.step->perturbation.defined();
  if (is_perturbed && !pass.encoded.defined()) {
    x = (x + pass.step->perturbation).to(x.scalar_type());
  }
  x = pass.seen("embeddings", add_norm(pass.layout, x, {}, {}, norm, {}));
  x = drop(pass.layout, x, pass.dropout(spec_.hidden_dropout, stack.site));
  if (!projection_) return x;
  const Tensor wide = pass.product(pass.layout, x, *projection_) + projection_->bias;
  return pass.seen("embeddings_project", wide.to(pass.number));
}

// With a decoder, tokens stand in reverse order: the state of the last one is then the first, which
// alone the last layer computes.
Tensor Encoder::encode(const Pass& pass, const Batch& batch, States states) const {
  const Layout& layout = *pass.layout;
  const bool all = pass.states != nullptr || spec_.pools_mean;
  const States wanted = all ? States::all_tokens : states;
  const Tensor types = token_types(pass, batch);
  Tensor ids = without_padding(batch.token_ids, batch, layout);
  if (spec_.has_decoder()) ids = reversed(ids, layout);
  const auto end = static_cast<std::size_t>(spec_.layers);
  const auto middle = static_cast<std::size_t>(spec_.layers - spec_.decoder_layers);
  Tensor x = embeddings(pass, ids, types, encoder_);
  if (pass.states != nullptr) pass.states->push_back(in_text_order(x, layout));
  x = through(pass, {.first = 0, .end = middle}, x, wanted);
  if (spec_.has_decoder()) {
    Pass own = pass;
    own.encoded = x;
    x = embeddings(own, decoder_ids(ids, layout, spec_.start_id), types, decoder_);
    x = through(own, {.first = middle, .end = end}, x, wanted);
  }
  if (states == States::all_tokens) return in_text_order(x, layout);
  if (states == wanted) return x;
  return spec_.pools_mean ? means_of(x, layout) : firsts_of(x, layout);
}

Tensor Encoder::in_text_order(const Tensor& x, const Layout& layout) const {
  if (!spec_.has_decoder()) return x;
  const Tensor order = reversed(at::arange(layout.tokens, at::kLong), layout);
  return at::index_select(x, 0, on_device_of(x, order));
}

Tensor Encoder::through(const Pass& pass, LayerSpan span, const Tensor& x, States states) const {
  // A pass that records the states of the layers keeps them, and those of all tokens.
  const bool recording = pass.states != nullptr;
  const bool again = !recording && pass.step != nullptr && pass.step->recomputed_layers > 0 &&
                     at::GradMode::is_enabled();
  std::size_t group = recording ? 1 : span.end - span.first;
  // Gradients are sums over the layers that share a parameter or read the states of the encoder,
  // which a group would add up first.
  const bool sums = spec_.shares_layers || spec_.is_relative() || pass.encoded.defined();
  if (again) group = sums ? 1 : static_cast<std::size_t>(pass.step->recomputed_layers);
  Tensor y = x;
  for (std::size_t i = span.first; i < span.end; i += group) {
    const LayerSpan part{.first = i, .end = std::min(i + group, span.end)};
    y = again ? recomputed(pass, part, y, states) : layers(pass, part, y, states);
    if (recording) pass.states->push_back(in_text_order(y, *pass.layout));
  }
  return y;
}

// The caller's step may be gone when the backward pass runs. Its observer sees the first
// computation only.
Tensor Encoder::recomputed(const Pass& pass, LayerSpan span, const Tensor& x, States states) const {
  const auto step = std::make_shared<TrainingStep>(*pass.step);
  Pass own = pass;
  own.step = step.get();
  std::vector<Tensor> parameters = parameters_of(span);
  for (const Tensor& shared : {own.relative, own.encoded}) {
    if (shared.defined()) parameters.push_back(shared);
  }
  Tensor y = recompute(x, parameters, [this, step, own, span, states](const Tensor& from) {
    return layers(own, span, from, states);
  });
  step->observe = nullptr;
  return y;
}

std::vector<Tensor> Encoder::parameters_of(LayerSpan span) const {
  std::vector<Tensor> all;
  for (std::size_t i = span.first; i < span.end; ++i) {
    const std::vector<Tensor>& own = layer_at(i).parameters;
    all.insert(all.end(), own.begin(), own.end());
  }
  const bool has_last = static_cast<int>(span.end) == spec_.layers;
  if (has_last && spec_.pre_norm) all.push_back(final_norm_.gamma);
  return all;
}

Tensor Encoder::pool(const Pass& pass, const Tensor& first) const {
  const Tensor x = first.to(at::kFloat);
  Tensor y = at::linear(x, pooler_.weight.master, pooler_.bias);
  for (const Adapter& adapter : pooler_.adapters) {
    const Tensor dropped = drop(pass.first_layout, x, pass.dropout(lora_->dropout, adapter.site));
    y = y + at::linear(at::linear(dropped, adapter.a.master), adapter.b.master) * adapter.scale;
  }
  y = activated(spec_.pooling, y);
  if (!pooler_norm_.gamma.defined()) return y;
  return at::layer_norm(y, {y.size(1)}, pooler_norm_.gamma, pooler_norm_.beta,
                        pooler_norm_.epsilon);
}

}  // namespace bp::trainer

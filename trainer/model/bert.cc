#include "trainer/model/bert.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "base/text.h"
#include "bp/error.h"
#include "trainer/model/functions.h"
#include "trainer/model/init.h"
#include "trainer/model/kernels/kernels.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// A matrix, and the bias that the operation after the product adds.
struct Linear {
  Weight weight;
  Tensor bias;
};

struct Layer {
  Linear qkv;
  Linear attention_output;
  Norm attention_norm;
  Linear intermediate;
  Linear output;
  Norm norm;
};

// The dropout sites of one forward pass. Each layer has three successive ones.
constexpr std::uint32_t kEmbeddingSite = 0;
constexpr std::uint32_t kHeadSite = 1;
constexpr std::uint32_t kProbabilitySite = 2;
constexpr std::uint32_t kAttentionSite = 3;
constexpr std::uint32_t kOutputSite = 4;
constexpr std::uint32_t kLayerSites = 3;

// The state of one forward pass.
struct Pass {
  LayoutPtr layout;
  LayoutPtr first_layout;
  const Bert::Step* step = nullptr;
  // The last layer computes only the first tokens, which are all that the head reads.
  bool first_tokens_only = true;

  [[nodiscard]] Dropout dropout(double share, std::uint32_t site) const {
    if (step == nullptr) return {};
    return {share, step->seed, step->number, site};
  }
  // Reports the activation `x` of layer `index`, or of no layer if `index` is below 0, to the
  // observer. Returns x.
  Tensor seen(int index, const char* name, Tensor x) const {
    if (step != nullptr && step->observe) {
      step->observe(index < 0 ? name : concat("encoder.layer.", index, ".", name), x);
    }
    return x;
  }
  [[nodiscard]] Weight weight(const Linear& linear) const {
    return step == nullptr ? Weight{linear.weight.master, linear.weight.master} : linear.weight;
  }
};

}  // namespace

class Bert::Impl {
 public:
  Impl(BertConfig config, Precision precision, std::uint64_t seed);

  Tensor forward(const Batch& batch, const Step* step) const;
  Tensor hidden_states(const Batch& batch) const;
  Tensor pooled(const Batch& batch) const;
  Pass begin(const Batch& batch, const Step* step) const;
  Tensor encode(const Pass& pass, const Batch& batch) const;
  Tensor layer(const Pass& pass, const Layer& l, const Tensor& x, std::size_t index) const;
  Tensor pool(const Tensor& first) const;
  void refresh();

  Tensor add(const std::string& name, std::vector<std::int64_t> shape);
  Linear linear(const std::string& name, std::int64_t out, std::int64_t in);
  Norm norm(const std::string& name);

  BertConfig config_;
  Precision precision_;
  std::uint64_t seed_;
  std::vector<std::pair<std::string, Tensor>> parameters_;

  Tensor words_;
  Tensor positions_;
  Tensor types_;
  Norm embedding_norm_;
  std::vector<Layer> layers_;
  Linear pooler_;
  Linear classifier_;
};

Bert::Impl::Impl(BertConfig config, Precision precision, std::uint64_t seed)
    : config_(std::move(config)), precision_(precision), seed_(seed) {
  check(config_);
  if (config_.labels.empty()) {
    throw Error(ErrorCode::invalid_argument, "a classification head needs at least one label");
  }
  const std::int64_t hidden = config_.hidden;
  const std::string embeddings = "bert.embeddings.";
  words_ = add(embeddings + "word_embeddings.weight", {config_.vocabulary, hidden});
  positions_ = add(embeddings + "position_embeddings.weight", {config_.positions, hidden});
  types_ = add(embeddings + "token_type_embeddings.weight", {config_.token_types, hidden});
  embedding_norm_ = norm(embeddings + "LayerNorm");
  for (int i = 0; i < config_.layers; ++i) {
    const std::string name = concat("bert.encoder.layer.", i, ".");
    Layer l;
    l.qkv = linear(name + "attention.self.qkv", 3 * hidden, hidden);
    l.attention_output = linear(name + "attention.output.dense", hidden, hidden);
    l.attention_norm = norm(name + "attention.output.LayerNorm");
    l.intermediate = linear(name + "intermediate.dense", config_.intermediate, hidden);
    l.output = linear(name + "output.dense", hidden, config_.intermediate);
    l.norm = norm(name + "output.LayerNorm");
    layers_.push_back(l);
  }
  pooler_ = linear("bert.pooler.dense", hidden, hidden);
  classifier_ = linear("classifier", static_cast<std::int64_t>(config_.labels.size()), hidden);

  words_.slice(0, config_.pad_id, config_.pad_id + 1).zero_();
  for (auto& [name, parameter] : parameters_) parameter.requires_grad_(true);
  refresh();
}

Tensor Bert::Impl::add(const std::string& name, std::vector<std::int64_t> shape) {
  Tensor parameter = at::empty(shape, at::kFloat);
  fill_normal(parameter, config_.initializer_range, seed_, name);
  parameters_.emplace_back(name, parameter);
  return parameter;
}

Linear Bert::Impl::linear(const std::string& name, std::int64_t out, std::int64_t in) {
  Linear result;
  result.weight.master = add(name + ".weight", {out, in});
  result.bias = at::zeros({out}, at::kFloat);
  parameters_.emplace_back(name + ".bias", result.bias);
  return result;
}

Norm Bert::Impl::norm(const std::string& name) {
  Norm result;
  result.gamma = at::ones({config_.hidden}, at::kFloat);
  result.beta = at::zeros({config_.hidden}, at::kFloat);
  result.epsilon = config_.norm_epsilon;
  parameters_.emplace_back(name + ".weight", result.gamma);
  parameters_.emplace_back(name + ".bias", result.beta);
  return result;
}

// Casts the weights that products use. The copies are new tensors each time, because an autograd
// graph that still exists keeps the copies with which it was made.
void Bert::Impl::refresh() {
  const auto cast = [this](Weight& weight) {
    weight.compute = precision_ == Precision::bf16 ? weight.master.detach().to(at::kBFloat16)
                                                   : weight.master.detach();
  };
  for (Layer& l : layers_) {
    cast(l.qkv.weight);
    cast(l.attention_output.weight);
    cast(l.intermediate.weight);
    cast(l.output.weight);
  }
}

Tensor Bert::Impl::forward(const Batch& batch, const Step* step) const {
  const at::AutoGradMode mode(step != nullptr && at::GradMode::is_enabled());
  const Pass pass = begin(batch, step);
  const Tensor x =
      drop(pass.first_layout, pass.seen(-1, "pooler", pool(encode(pass, batch))),
           pass.dropout(config_.classifier_dropout.value_or(config_.hidden_dropout), kHeadSite));
  return pass.seen(-1, "classifier", at::linear(x, classifier_.weight.master, classifier_.bias));
}

Tensor Bert::Impl::hidden_states(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  Pass pass = begin(batch, nullptr);
  pass.first_tokens_only = false;
  return encode(pass, batch).slice(0, 0, pass.layout->offsets.back());
}

Tensor Bert::Impl::pooled(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  return pool(encode(begin(batch, nullptr), batch));
}

Pass Bert::Impl::begin(const Batch& batch, const Step* step) const {
  BP_CHECK(batch.rows > 0, "a forward pass needs at least one sample");
  if (batch.length > config_.positions) {
    throw Error(ErrorCode::invalid_argument,
                concat("a sample of ", batch.length, " tokens is longer than the model's ",
                       config_.positions, " positions"));
  }
  Pass pass;
  pass.step = step;
  pass.layout = std::make_shared<Layout>(make_layout(batch.lengths, batch.sample_ids));
  pass.first_layout = std::make_shared<Layout>(first_tokens(*pass.layout));
  return pass;
}

// Returns the last layer's states: of the first tokens, [rows, hidden], or of all tokens, [tokens,
// hidden].
Tensor Bert::Impl::encode(const Pass& pass, const Batch& batch) const {
  Tensor ids = at::empty({pass.layout->offsets.back()}, at::kLong);
  auto* packed = ids.data_ptr<std::int64_t>();
  for (int row = 0; row < batch.rows; ++row) {
    const auto from = batch.token_ids.begin() + std::ptrdiff_t{row} * batch.length;
    packed = std::copy(from, from + pass.layout->length(row), packed);
  }
  const bool bf16 = pass.step != nullptr && precision_ == Precision::bf16;
  Tensor x = embed(pass.layout, ids, words_, positions_, types_, bf16 ? at::kBFloat16 : at::kFloat);
  x = pass.seen(-1, "embeddings", add_norm(pass.layout, x, {}, {}, embedding_norm_, {}));
  x = drop(pass.layout, x, pass.dropout(config_.hidden_dropout, kEmbeddingSite));
  for (std::size_t i = 0; i < layers_.size(); ++i) x = layer(pass, layers_[i], x, i);
  return x;
}

// Maps [tokens, hidden] to the same shape. The last layer may compute only the first token of each
// sample, [rows, hidden].
Tensor Bert::Impl::layer(const Pass& pass,
                         const Layer& l,
                         const Tensor& x,
                         std::size_t index) const {
  const bool last = pass.first_tokens_only && index + 1 == layers_.size();
  const auto site = static_cast<std::uint32_t>(index) * kLayerSites;
  const double hidden = config_.hidden_dropout;
  const auto seen = [&](const char* name, Tensor made) {
    return pass.seen(static_cast<int>(index), name, std::move(made));
  };

  Tensor y = product(x, pass.weight(l.qkv));
  y = seen("attention.self",
           attention(pass.layout, y, l.qkv.bias, config_.heads, last,
                     pass.dropout(config_.attention_dropout, site + kProbabilitySite)));
  Tensor residual = x;
  if (last) {
    const Tensor firsts = at::from_blob(const_cast<std::int64_t*>(pass.layout->offsets.data()),
                                        {pass.layout->rows}, at::kLong);
    residual = at::index_select(x, 0, firsts.clone());
  }
  const LayoutPtr& layout = last ? pass.first_layout : pass.layout;
  const Tensor attended =
      seen("attention.output",
           add_norm(layout, product(y, pass.weight(l.attention_output)), l.attention_output.bias,
                    residual, l.attention_norm, pass.dropout(hidden, site + kAttentionSite)));
  y = seen("intermediate",
           bias_gelu(product(attended, pass.weight(l.intermediate)), l.intermediate.bias));
  return seen("output", add_norm(layout, product(y, pass.weight(l.output)), l.output.bias, attended,
                                 l.norm, pass.dropout(hidden, site + kOutputSite)));
}

Tensor Bert::Impl::pool(const Tensor& first) const {
  return at::tanh(at::linear(first.to(at::kFloat), pooler_.weight.master, pooler_.bias));
}

bool has_fast_products(Precision precision) {
#if defined(__x86_64__)
  return precision == Precision::fp32 || kernels::best_isa() == kernels::Isa::avx512;
#else
  (void)precision;
  return true;
#endif
}

Bert::Bert(BertConfig config, Precision precision, std::uint64_t seed)
    : impl_(std::make_unique<Impl>(std::move(config), precision, seed)) {}
Bert::~Bert() = default;

const BertConfig& Bert::config() const { return impl_->config_; }

const std::vector<std::pair<std::string, Tensor>>& Bert::parameters() const {
  return impl_->parameters_;
}

void Bert::parameters_changed() { impl_->refresh(); }

Tensor Bert::forward(const Batch& batch, const Step* step) const {
  return impl_->forward(batch, step);
}

Tensor Bert::hidden_states(const Batch& batch) const { return impl_->hidden_states(batch); }

Tensor Bert::pooled(const Batch& batch) const { return impl_->pooled(batch); }

Tensor classification_loss(const Tensor& logits, const Batch& batch) {
  const Tensor labels =
      at::from_blob(const_cast<std::int64_t*>(batch.labels.data()), {batch.rows}, at::kLong);
  return at::cross_entropy_loss(logits, labels.clone());
}

}  // namespace bp::trainer

#include "trainer/tasks/pretrain/pretrain_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/families/family.h"
#include "trainer/model/passes/device_of.h"
#include "trainer/model/passes/products.h"

namespace bp::trainer {
namespace {

using at::Tensor;

// Returns the rows of `states` that hold the masked tokens.
std::vector<std::int64_t> masked_rows(const PretrainTargets& targets, const Layout& layout) {
  std::vector<std::int64_t> rows;
  rows.reserve(targets.positions.size());
  for (int row = 0; row < layout.rows; ++row) {
    for (std::int32_t i = 0; i < targets.masked[static_cast<std::size_t>(row)]; ++i) {
      const std::int64_t position = targets.positions[rows.size()];
      if (position < 0 || position >= layout.length(row)) {
        refuse(concat("a masked token at position ", position, " of a sample of ",
                      layout.length(row), " tokens"));
      }
      rows.push_back(layout.offsets[static_cast<std::size_t>(row)] + position);
    }
  }
  return rows;
}

void check_range(const std::vector<std::int64_t>& numbers, std::int64_t end, const char* what) {
  for (const std::int64_t number : numbers) {
    if (number >= 0 && number < end) continue;
    refuse(concat(what, " is ", number, "; it must be 0 to ", end - 1));
  }
}

// Returns the loss of each row of `logits`, and the most likely id: [rows, 2].
Tensor scored(const Tensor& logits, const std::vector<std::int64_t>& ids) {
  const Tensor losses = at::cross_entropy_loss(logits, on_device_of(logits, at::tensor(ids)), {},
                                               at::Reduction::None);
  return at::stack({losses, at::argmax(logits.detach(), 1).to(at::kFloat)}, 1);
}

// Returns the figure of how many of the `guesses` are the right id.
LossFigure guessed(const char* name, const Tensor& guesses, const std::vector<std::int64_t>& ids) {
  const Tensor right = guesses.to(at::kLong).eq(on_device_of(guesses, at::tensor(ids)));
  return {name, right.sum().to(at::kDouble), static_cast<double>(ids.size())};
}

constexpr const char* kMaskedFigure = "masked_accuracy";
constexpr const char* kNextFigure = "next_sentence_accuracy";

class PretrainHead : public Head {
 public:
  PretrainHead(const EncoderSpec& config,
               Parameters& parameters,
               ReadTargets read_targets,
               bool with_next_sentence)
      : vocabulary_(config.vocabulary),
        read_targets_(std::move(read_targets)),
        transform_(make_transform(config, parameters)),
        words_(parameters.tied(names_of(config).masked_decoder + ".weight",
                               names_of(config).word_embeddings())),
        bias_(parameters.bias(names_of(config).masked_bias, config.vocabulary)) {
    const WeightNames& names = names_of(config);
    const std::string of_decoder = names.masked_decoder + ".bias";
    if (of_decoder != names.masked_bias) (void)parameters.tied(of_decoder, names.masked_bias);
    if (with_next_sentence) {
      next_sentence_ = parameters.linear(names.next_sentence, 2, config.hidden);
    }
  }

  [[nodiscard]] States reads() const override { return States::all_tokens; }
  [[nodiscard]] bool reads_pooler() const override { return next_sentence_ || !transform_; }

  [[nodiscard]] Tensor forward(const Encoder& encoder,
                               const Pass& pass,
                               const Tensor& states,
                               const Batch& batch) const override {
    const PretrainTargets targets = checked_targets(batch);
    const std::vector<std::int64_t> rows = masked_rows(targets, *pass.layout);
    const Tensor masked = at::index_select(states, 0, on_device_of(states, at::tensor(rows)));
    Tensor of_tokens = scored(token_logits(encoder, pass, masked), targets.ids);
    if (!next_sentence_) return of_tokens;
    const std::vector<std::int64_t>& offsets = pass.layout->offsets;
    const Tensor first_rows = at::tensor(at::IntArrayRef(offsets).slice(0, offsets.size() - 1));
    const Tensor firsts = at::index_select(states, 0, on_device_of(states, first_rows));
    const Tensor logits = pass.seen(
        "cls.seq_relationship", at::linear(pass.seen("pooler", encoder.pool(pass, firsts)),
                                           next_sentence_->weight.master, next_sentence_->bias));
    return at::cat({of_tokens, scored(logits, targets.next_sentence)});
  }

  [[nodiscard]] Loss loss(const Tensor& outputs, const Batch& batch) const override {
    const PretrainTargets targets = read_targets_(batch);
    const auto masked = outputs.size(0) - (next_sentence_ ? batch.rows : 0);
    const Tensor losses = outputs.select(1, 0);
    const Tensor of_tokens = losses.slice(0, 0, masked).sum();
    const auto tokens = static_cast<double>(masked);
    const Tensor guesses = outputs.detach().select(1, 1);
    std::vector<LossFigure> figures = {
        guessed(kMaskedFigure, guesses.slice(0, 0, masked), targets.ids)};
    if (!next_sentence_) {
      return {masked > 0 ? of_tokens / tokens : of_tokens, tokens, std::move(figures)};
    }
    figures.push_back(guessed(kNextFigure, guesses.slice(0, masked), targets.next_sentence));
    const double samples = batch.rows;
    const Tensor of_samples = losses.slice(0, masked).sum();
    const double per_sample =
        targets.masked_per_sample > 0 ? targets.masked_per_sample : tokens / samples;
    const Tensor sum = masked > 0 ? of_samples + of_tokens / per_sample : of_samples;
    return {sum / samples, samples, std::move(figures)};
  }
  [[nodiscard]] std::vector<std::string> figures() const override {
    std::vector<std::string> names = {kMaskedFigure};
    if (next_sentence_) names.emplace_back(kNextFigure);
    return names;
  }

 private:
  [[nodiscard]] PretrainTargets checked_targets(const Batch& batch) const {
    PretrainTargets targets = read_targets_(batch);
    const auto rows = static_cast<std::size_t>(batch.rows);
    const auto masked = static_cast<std::size_t>(
        std::accumulate(targets.masked.begin(), targets.masked.end(), std::int64_t{0}));
    BP_CHECK(targets.masked.size() == rows, "each sample has a number of masked tokens");
    BP_CHECK(targets.positions.size() == masked && targets.ids.size() == masked,
             "each masked token has a position and an id");
    check_range(targets.ids, vocabulary_, "the id of a masked token");
    if (next_sentence_) {
      BP_CHECK(targets.next_sentence.size() == rows, "each sample has a 'next_sentence'");
      check_range(targets.next_sentence, 2, "'next_sentence' of a sample");
    }
    return targets;
  }

  // A dense layer, GELU and a norm over masked tokens.
  struct Transform {
    Linear dense;
    Norm norm;
    bool by_tanh = false;
    [[nodiscard]] Tensor operator()(const Tensor& masked) const {
      const Tensor x = at::linear(masked.to(at::kFloat), dense.weight.master, dense.bias);
      return at::layer_norm(at::gelu(x, by_tanh ? "tanh" : "none"), {x.size(1)}, norm.gamma,
                            norm.beta, norm.epsilon);
    }
  };
  // Returns nothing if the pooler does the same.
  static std::optional<Transform> make_transform(const EncoderSpec& config,
                                                 Parameters& parameters) {
    if (config.pools_tokens) return {};
    const WeightNames& names = names_of(config);
    const std::int64_t width = config.embedding_width();
    Transform made;
    made.dense = parameters.linear(names.masked_dense, width, config.hidden);
    made.norm = parameters.norm(names.masked_norm, width, config.norm_epsilon);
    made.by_tanh = config.activation == Activation::gelu_tanh;
    return made;
  }

  // Returns fp32 logits over the vocabulary for each masked token. The transform is fp32, as the
  // pooler is: it is small beside the product with the vocabulary.
  [[nodiscard]] Tensor token_logits(const Encoder& encoder,
                                    const Pass& pass,
                                    const Tensor& masked) const {
    const Tensor transformed = transform_ ? (*transform_)(masked) : encoder.pool(pass, masked);
    Tensor x = pass.seen("cls.predictions.transform", transformed);
    if (pass.number == at::kFloat) {
      return pass.seen("cls.predictions", at::linear(x, words_, bias_));
    }
    const Weight words{words_, weight_for_products(words_, pass.number)};
    x = product(x.to(pass.number), words).to(at::kFloat) + bias_;
    return pass.seen("cls.predictions", x);
  }

  std::int64_t vocabulary_;
  ReadTargets read_targets_;
  std::optional<Transform> transform_;
  Tensor words_;
  Tensor bias_;
  std::optional<Linear> next_sentence_;
};

}  // namespace

std::unique_ptr<Head> make_pretrain_head(const EncoderSpec& config,
                                         Parameters& parameters,
                                         const ReadTargets& read_targets,
                                         bool with_next_sentence) {
  return std::make_unique<PretrainHead>(config, parameters, read_targets, with_next_sentence);
}

}  // namespace bp::trainer

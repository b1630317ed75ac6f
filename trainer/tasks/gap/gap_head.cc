#include "trainer/tasks/gap/gap_head.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/check.h"
#include "base/refuse.h"
#include "base/text.h"
#include "trainer/model/files/tensor_file.h"
#include "trainer/model/passes/device_of.h"
#include "trainer/tasks/gap/gap_input.h"
#include "trainer/tasks/linear_head.h"

namespace bp::trainer {
namespace {

using at::Tensor;

constexpr std::int64_t kAnswers = 3;

class GapHead : public Head {
 public:
  [[nodiscard]] States reads() const override { return States::all_tokens; }
  [[nodiscard]] bool reads_pooler() const override { return false; }

  [[nodiscard]] Loss loss(const Tensor& outputs, const Batch& batch) const override {
    const std::span<const std::int64_t> values = batch.arrays[kGapLabel].integers;
    BP_CHECK(values.size() == static_cast<std::size_t>(batch.rows), "each sample needs a label");
    Tensor labels = at::empty({batch.rows}, at::kLong);
    std::copy(values.begin(), values.end(), labels.data_ptr<std::int64_t>());
    return {at::cross_entropy_loss(outputs, on_device_of(outputs, labels)),
            static_cast<double>(batch.rows)};
  }

  [[nodiscard]] Loss divergence(const Tensor& outputs,
                                const Tensor& others,
                                const Batch& batch) const override {
    return {row_divergences(outputs, others).mean(), static_cast<double>(batch.rows)};
  }

 protected:
  // Returns the states of pronoun, A and B: fp32 [rows, 3, hidden].
  [[nodiscard]] Tensor mentions(const Pass& pass, const Tensor& states, const Batch& batch) const {
    const std::span<const std::int64_t> positions = batch.arrays[kGapPositions].integers;
    BP_CHECK(positions.size() == static_cast<std::size_t>(batch.rows) * kAnswers,
             "each sample needs three positions");
    Tensor tokens = at::empty({batch.rows * kAnswers}, at::kLong);
    auto* next = tokens.data_ptr<std::int64_t>();
    for (int row = 0; row < batch.rows; ++row) {
      const auto r = static_cast<std::size_t>(row);
      for (const std::int64_t position : positions.subspan(r * kAnswers, kAnswers)) {
        BP_CHECK(position >= 0 && position < pass.layout->length(row), "a mention is not a token");
        *next++ = pass.layout->offsets[r] + position;
      }
    }
    return at::index_select(states, 0, on_device_of(states, tokens))
        .to(at::kFloat)
        .view({batch.rows, kAnswers, states.size(1)});
  }
};

class ConcatHead : public GapHead {
 public:
  ConcatHead(const EncoderSpec& config, Parameters& parameters)
      : classifier_(parameters.linear("classifier", kAnswers, kAnswers * config.hidden)) {}

  [[nodiscard]] Tensor forward(const Encoder& /*encoder*/,
                               const Pass& pass,
                               const Tensor& states,
                               const Batch& batch) const override {
    return pass.seen("classifier", at::linear(mentions(pass, states, batch).flatten(1),
                                              classifier_.weight.master, classifier_.bias));
  }

 private:
  Linear classifier_;
};

class MulHead : public GapHead {
 public:
  MulHead(const EncoderSpec& config, Parameters& parameters)
      : neither_(parameters.matrix("neither", {config.hidden}, 1)) {}

  [[nodiscard]] Tensor forward(const Encoder& /*encoder*/,
                               const Pass& pass,
                               const Tensor& states,
                               const Batch& batch) const override {
    const Tensor all = mentions(pass, states, batch);
    const Tensor pronoun = all.select(1, 0);
    const Tensor answers =
        at::stack({neither_.expand_as(pronoun), all.select(1, 1), all.select(1, 2)}, 1);
    const double root = std::sqrt(static_cast<double>(all.size(2)));
    return pass.seen("classifier", answers.mul(pronoun.unsqueeze(1)).sum(2).div(root));
  }

 private:
  Tensor neither_;
};

class SegmentHead : public GapHead {
 public:
  SegmentHead(const EncoderSpec& config, Parameters& parameters)
      : classifier_(parameters.linear("classifier", kAnswers, config.hidden)) {
    if (config.token_types < kSegmentTypes) {
      refuse(concat("the head segment needs ", kSegmentTypes,
                    " token types, and 'type_vocab_size' is ", config.token_types));
    }
  }

  [[nodiscard]] States reads() const override { return States::first_tokens; }
  [[nodiscard]] bool reads_pooler() const override { return true; }

  [[nodiscard]] Tensor forward(const Encoder& encoder,
                               const Pass& pass,
                               const Tensor& states,
                               const Batch& batch) const override {
    if (batch.token_types.empty()) refuse("the head segment needs samples with token types");
    const Tensor pooled = pass.seen("pooler", encoder.pool(pass, states));
    return pass.seen("classifier", at::linear(pooled, classifier_.weight.master, classifier_.bias));
  }

 private:
  Linear classifier_;
};

template <class Kind>
std::unique_ptr<Head> make_head(const EncoderSpec& config, Parameters& parameters) {
  return std::make_unique<Kind>(config, parameters);
}

constexpr std::string_view kTypes = "embeddings.token_type_embeddings.weight";

at::Tensor parameter_of(const Bert& model) {
  const auto& all = model.parameters();
  const auto found =
      std::ranges::find_if(all, [](const auto& named) { return named.first.ends_with(kTypes); });
  BP_CHECK(found != all.end(), "every encoder has token types");
  return found->second;
}

at::ScalarType number_of(const StoredTensor& tensor, const std::string& path) {
  if (tensor.type == "F32") return at::kFloat;
  if (tensor.type == "F16") return at::kHalf;
  if (tensor.type == "BF16") return at::kBFloat16;
  refuse(path, concat("'", kTypes, "' is of type ", tensor.type, ", not F32, F16 or BF16"));
}

}  // namespace

HeadMaker make_gap_head(GapHeadKind kind) {
  if (kind == GapHeadKind::concat) return make_head<ConcatHead>;
  return kind == GapHeadKind::mul ? make_head<MulHead> : make_head<SegmentHead>;
}

bool take_first_token_type(Bert& model, const std::string& path) {
  const at::NoGradGuard no_grad;
  at::Tensor types = parameter_of(model);
  const auto file = open_tensor_file(path);
  for (std::size_t i = 0; i < file->tensors().size(); ++i) {
    const StoredTensor& tensor = file->tensors()[i];
    if (!tensor.name.ends_with(kTypes)) continue;
    if (tensor.shape.size() != 2 || tensor.shape[0] < 1 || tensor.shape[1] != types.size(1)) break;
    const at::Tensor stored = at::empty(tensor.shape, number_of(tensor, path));
    file->read(i, stored.data_ptr());
    types.select(0, 0).copy_(stored.select(0, 0));
    model.parameters_changed();
    return true;
  }
  return false;
}

}  // namespace bp::trainer

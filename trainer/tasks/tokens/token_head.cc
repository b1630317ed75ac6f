#include "trainer/tasks/tokens/token_head.h"

#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/refuse.h"
#include "trainer/model/onnx_encoder.h"
#include "trainer/model/onnx_graph.h"
#include "trainer/model/passes/device_of.h"
#include "trainer/tasks/label_config.h"
#include "trainer/tasks/linear_head.h"
#include "trainer/tasks/tokens/sentence_windows.h"
#include "trainer/tasks/tokens/token_options.h"

namespace bp::trainer {
namespace {

using at::Tensor;

class TokenHead : public Head {
 public:
  TokenHead(const LabelConfig& own, const EncoderSpec& config, Parameters& parameters)
      : spec_(config),
        dropout_(own.dropout.value_or(config.pools_tokens ? config.head_dropout()
                                                          : config.hidden_dropout)),
        classifier_(parameters.linear("classifier",
                                      static_cast<std::int64_t>(own.labels.size()),
                                      config.hidden,
                                      true,
                                      config.classifier_deviation())) {}

  [[nodiscard]] States reads() const override { return States::all_tokens; }
  [[nodiscard]] bool reads_pooler() const override { return spec_.pools_tokens; }

  [[nodiscard]] Tensor forward(const Encoder& encoder,
                               const Pass& pass,
                               const Tensor& states,
                               const Batch& /*batch*/) const override {
    const Tensor read = spec_.pools_tokens ? encoder.pool(pass, states) : states;
    const Tensor x = drop(pass.layout, read, pass.dropout(dropout_, kHeadSite))
                         .slice(0, 0, pass.layout->offsets.back())
                         .to(at::kFloat);
    return pass.seen("classifier", at::linear(x, classifier_.weight.master, classifier_.bias));
  }

  void add_to(OnnxGraph& graph, const std::string& states) const override {
    const std::string read = spec_.pools_tokens ? add_pooling(graph, spec_, states) : states;
    graph.output(graph.linear(read, "classifier"), "logits", OnnxGraph::Type::f32,
                 {"batch", "sequence", classifier_.bias.size(0)});
  }

  [[nodiscard]] Loss loss(const Tensor& outputs, const Batch& batch) const override {
    const Tensor targets = packed_targets(batch);
    const auto* values = targets.const_data_ptr<std::int64_t>();
    const auto count =
        std::count_if(values, values + targets.numel(), [](auto t) { return t != kIgnoredTarget; });
    const Tensor sum = at::cross_entropy_loss(outputs, on_device_of(outputs, targets), {},
                                              at::Reduction::Sum, kIgnoredTarget);
    return {sum.div(std::max<std::int64_t>(count, 1)), static_cast<double>(count)};
  }

  [[nodiscard]] Loss divergence(const Tensor& outputs,
                                const Tensor& others,
                                const Batch& batch) const override {
    const Tensor counted = packed_targets(batch).ne(kIgnoredTarget);
    const auto count = counted.sum().item<std::int64_t>();
    const Tensor sum = row_divergences(outputs, others).mul(on_device_of(outputs, counted)).sum();
    return {sum.div(std::max<std::int64_t>(count, 1)), static_cast<double>(count)};
  }

 private:
  // Returns the targets in the order of the outputs' rows, on the CPU.
  [[nodiscard]] Tensor packed_targets(const Batch& batch) const {
    const std::span<const std::int64_t> padded = batch.arrays[kTargetsArray].integers;
    const auto length = static_cast<std::size_t>(batch.length);
    BP_CHECK(padded.size() == batch.lengths.size() * length, "each token needs one target");
    Tensor packed = at::empty(
        {std::accumulate(batch.lengths.begin(), batch.lengths.end(), std::int64_t{0})}, at::kLong);
    auto* next = packed.data_ptr<std::int64_t>();
    for (std::size_t row = 0; row < batch.lengths.size(); ++row) {
      const auto own = padded.subspan(row * length, static_cast<std::size_t>(batch.lengths[row]));
      next = std::copy(own.begin(), own.end(), next);
    }
    return packed;
  }

  EncoderSpec spec_;
  double dropout_;
  Linear classifier_;
};

}  // namespace

std::unique_ptr<Head> make_token_head(const EncoderSpec& config, Parameters& parameters) {
  const LabelConfig own = label_config_of(config);
  if (own.labels.empty()) refuse("a head for token classification needs at least one tag");
  return std::make_unique<TokenHead>(own, config, parameters);
}

}  // namespace bp::trainer

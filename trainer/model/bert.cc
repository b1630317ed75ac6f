#include "trainer/model/bert.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <utility>

#include "trainer/model/onnx_encoder.h"

namespace bp::trainer {
namespace {

using at::Tensor;

BertConfig checked(BertConfig config) {
  check(config);
  return config;
}

}  // namespace

Bert::Bert(BertConfig config, const HeadMaker& head, Precision precision, std::uint64_t seed)
    : config_(checked(std::move(config))),
      parameters_(config_.initializer_range, seed),
      encoder_(config_, precision, parameters_),
      head_(head(config_, parameters_)) {
  if (!head_->reads_pooler()) parameters_.remove("bert.pooler.");
  for (const auto& [name, parameter] : parameters_.all()) parameter.requires_grad_(true);
}

Tensor Bert::forward(const Batch& batch, const TrainingStep* step) const {
  const at::AutoGradMode mode(step != nullptr && at::GradMode::is_enabled());
  const Pass pass = encoder_.begin(batch, step);
  const Tensor states = encoder_.encode(pass, batch, head_->reads());
  return head_->forward(encoder_, pass, states, batch);
}

void Bert::add_to(OnnxGraph& graph) const { head_->add_to(graph, add_encoder(graph, config_)); }

Tensor Bert::hidden_states(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  const Pass pass = encoder_.begin(batch, nullptr);
  return encoder_.encode(pass, batch, States::all_tokens).slice(0, 0, pass.layout->offsets.back());
}

Tensor Bert::pooled(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  return encoder_.pool(
      encoder_.encode(encoder_.begin(batch, nullptr), batch, States::first_tokens));
}

}  // namespace bp::trainer

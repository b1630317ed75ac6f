#include "trainer/model/bert.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "trainer/model/families/family.h"
#include "trainer/model/onnx_encoder.h"

namespace bp::trainer {
namespace {

using at::Tensor;

EncoderSpec checked(EncoderSpec config) {
  check(config);
  return config;
}

std::optional<LoraConfig> checked(std::optional<LoraConfig> lora, const EncoderSpec& config) {
  if (lora) check(*lora, config);
  return lora;
}

}  // namespace

Bert::Bert(EncoderSpec config,
           const HeadMaker& head,
           Precision precision,
           Seed seed,
           std::optional<LoraConfig> lora,
           c10::Device device)
    : config_(checked(std::move(config))),
      lora_(checked(std::move(lora), config_)),
      parameters_(config_.initializer_range, seed, device, config_.initializer_cutoff),
      encoder_(config_, precision, this->lora(), parameters_),
      head_(head(config_, parameters_)) {
  if (!head_->reads_pooler()) {
    const WeightNames& names = names_of(config_);
    parameters_.remove(names.pooler + ".");
    if (!names.pooler_norm.empty()) parameters_.remove(names.pooler_norm + ".");
  }
  require_gradients();
}

void Bert::require_gradients() {
  for (const auto& [name, parameter] : parameters_.all()) {
    parameter.requires_grad_(!lora_ || lora_->saves(name));
  }
}

void Bert::save_module(const std::string& module) {
  BP_CHECK(lora_, "only a model with adapters saves a part of its modules");
  if (std::ranges::count(lora_->modules_to_save, module) > 0) return;
  lora_->modules_to_save.push_back(module);
  require_gradients();
}

void Bert::merge_adapters() {
  if (!lora_) return;
  encoder_.merge_adapters();
  parameters_.remove_adapters();
  lora_.reset();
  require_gradients();
}

void Bert::use_sparse_gradients() {
  const std::string name = names_of(config_).word_embeddings();
  const auto found = std::ranges::find(parameters(), name, &NamedTensors::value_type::first);
  const Tensor& words = found->second;
  const bool tied =
      std::ranges::any_of(ties(), [&](const auto& tie) { return tie.second == name; });
  if (words.is_cpu() && words.requires_grad() && !tied) encoder_.use_sparse_words();
}

std::vector<std::string> Bert::sparse_gradients() const {
  if (!encoder_.has_sparse_words()) return {};
  return {names_of(config_).word_embeddings()};
}

std::vector<std::vector<std::string>> Bert::layers() const {
  std::vector<std::vector<std::string>> all;
  for (int i = 0; i < config_.own_layers(); ++i) {
    const std::string prefix = names_of(config_).layer(config_, i);
    std::vector<std::string>& layer = all.emplace_back();
    for (const auto& [name, parameter] : parameters()) {
      if (name.starts_with(prefix)) layer.push_back(name);
    }
  }
  return all;
}

Tensor Bert::forward(const Batch& batch, const TrainingStep* step) const {
  const at::AutoGradMode mode(step != nullptr && at::GradMode::is_enabled());
  const Pass pass = encoder_.begin(batch, step);
  const Tensor states = encoder_.encode(pass, batch, head_->reads());
  const Tensor outputs = head_->forward(encoder_, pass, states, batch);
  return step == nullptr ? outputs.cpu() : outputs;
}

Bert::WithStates Bert::forward_with_states(const Batch& batch, const TrainingStep* step) const {
  const at::AutoGradMode mode(step != nullptr && at::GradMode::is_enabled());
  WithStates result;
  Pass pass = encoder_.begin(batch, step);
  pass.states = &result.states;
  const Tensor states = encoder_.encode(pass, batch, head_->reads());
  result.outputs = head_->forward(encoder_, pass, states, batch);
  result.layout = pass.layout;
  return result;
}

void Bert::add_projection(std::int64_t width) {
  projection_ = parameters_.matrix("distillation.projection", {width, config_.hidden});
  projection_.requires_grad_(!lora_);
}

void Bert::add_to(OnnxGraph& graph) const { head_->add_to(graph, add_encoder(graph, config_)); }

Tensor Bert::hidden_states(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  const Pass pass = encoder_.begin(batch, nullptr);
  const Tensor all = encoder_.encode(pass, batch, States::all_tokens);
  return all.slice(0, 0, pass.layout->offsets.back()).to(at::kFloat).cpu();
}

Tensor Bert::pooled(const Batch& batch) const {
  const at::NoGradGuard no_grad;
  const Pass pass = encoder_.begin(batch, nullptr);
  return encoder_.pool(pass, encoder_.encode(pass, batch, States::first_tokens)).cpu();
}

}  // namespace bp::trainer

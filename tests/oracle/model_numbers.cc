// model_numbers evaluate MODEL IN OUT: writes what the model computes for samples.
// model_numbers train MODEL IN OUT BATCH LR: trains on the same samples, BATCH in each step of
// AdamW.
//
// MODEL is a Hugging Face folder. IN and OUT are safetensors. IN has `ids` [rows, length],
// `lengths` and `labels` [rows] (I64), perhaps `types` [rows, length], and for training on a MODEL
// without a head `classifier.weight` and `classifier.bias`, the initial head. OUT of evaluate has
// `hidden` [tokens, hidden], `pooled`, and with a head `logits`. OUT of train has, for each step N
// from 0, `N.logits`, `N.loss`, and `N.grad.NAME` of the parameters. The gradients of the encoder
// are written at the first and the last step only.
#include <ATen/ATen.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "tests/support/classify_data.h"
#include "trainer/commands/model_source.h"
#include "trainer/model/files/safetensors.h"
#include "trainer/model/weights.h"
#include "trainer/optim/adamw.h"
#include "trainer/optim/model_parts.h"
#include "trainer/tasks/classify/class_config.h"
#include "trainer/tasks/classify/classifier_head.h"

namespace bp::trainer {
namespace {

using Tensors = std::map<std::string, at::Tensor>;

Tensors read_tensors(const std::string& path) {
  Tensors tensors;
  const SafetensorsReader reader(path);
  for (const SafetensorsEntry& entry : reader.header().entries) {
    at::Tensor tensor = at::empty(entry.shape, entry.type == "I64" ? at::kLong : at::kFloat);
    reader.read(entry, tensor.data_ptr());
    tensors.emplace(entry.name, tensor);
  }
  return tensors;
}

void write_tensors(const std::string& path, const Tensors& tensors) {
  std::vector<SafetensorsItem> items;
  for (const auto& [name, tensor] : tensors) {
    items.push_back({name, "F32", tensor.sizes().vec(), tensor.const_data_ptr()});
  }
  write_safetensors(path, std::move(items));
}

template <class T>
std::vector<T> vector_of(const at::Tensor& tensor) {
  const auto* numbers = tensor.const_data_ptr<std::int64_t>();
  std::vector<T> result;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) result.push_back(static_cast<T>(numbers[i]));
  return result;
}

Batch batch_of(const Tensors& in, std::int64_t begin, std::int64_t end) {
  const auto rows = [&](const char* name) { return in.at(name).slice(0, begin, end).contiguous(); };
  Batch batch;
  batch.rows = static_cast<int>(end - begin);
  batch.length = static_cast<int>(in.at("ids").size(1));
  batch.token_ids = vector_of<std::int64_t>(rows("ids"));
  batch.lengths = vector_of<std::int32_t>(rows("lengths"));
  batch.arrays = {{.integers = vector_of<std::int64_t>(rows("labels"))}};
  if (in.contains("types")) batch.token_types = vector_of<std::int64_t>(rows("types"));
  for (std::int64_t i = begin; i < end; ++i) batch.sample_ids.push_back(i);
  return batch;
}

std::unique_ptr<Bert> model_of(const ModelSource& source, std::int64_t labels) {
  EncoderSpec config = source.config;
  config.pooled_dropout = config.hidden_dropout = config.attention_dropout = 0;
  ClassConfig own{class_config_of(config).labels};
  own.labels.resize(static_cast<std::size_t>(labels));
  for (std::size_t i = 0; i < own.labels.size(); ++i) own.labels[i] = concat("label ", i);
  config.head = head_of(own, config);
  auto model = std::make_unique<Bert>(config, make_classifier_head, Precision::fp32, 1);
  for (const std::string& name : load_weights(*model, source.weights).missing) {
    if (!name.starts_with("classifier.")) throw std::runtime_error("no " + name);
  }
  return model;
}

std::int64_t labels_of(const ModelSource& source) {
  return static_cast<std::int64_t>(class_config_of(source.config).labels.size());
}

Tensors evaluate(const ModelSource& source, const Tensors& in) {
  const std::int64_t labels = labels_of(source);
  const auto model = model_of(source, std::max<std::int64_t>(labels, 1));
  const Batch batch = batch_of(in, 0, in.at("ids").size(0));
  Tensors out = {{"hidden", model->hidden_states(batch).contiguous()},
                 {"pooled", model->pooled(batch)}};
  if (labels > 0) out["logits"] = model->forward(batch, nullptr);
  return out;
}

// The optimizer that bert_train makes by default.
std::unique_ptr<torch::optim::Optimizer> adamw_of(const Bert& model, double lr) {
  DecayGroup decayed{{}, 0.01};
  DecayGroup others{{}, 0};
  for (const auto& [name, parameter] : model.parameters()) {
    const bool excepted = name.ends_with(".bias") || is_of_norm(name);
    (excepted ? others : decayed).parameters.push_back(parameter);
  }
  AdamWOptions options;
  options.lr = lr;
  return make_fused_adamw({decayed, others}, options);
}

Tensors train(const ModelSource& source, const Tensors& in, std::int64_t rows, double lr) {
  const auto head = in.find("classifier.bias");
  const auto model = model_of(source, head == in.end() ? labels_of(source) : head->second.size(0));
  for (const auto& [name, parameter] : model->parameters()) {
    if (in.contains(name)) parameter.detach().copy_(in.at(name));
  }
  const auto optimizer = adamw_of(*model, lr);

  Tensors out;
  const std::int64_t steps = in.at("ids").size(0) / rows;
  for (std::int64_t n = 0; n < steps; ++n) {
    const Batch batch = batch_of(in, n * rows, (n + 1) * rows);
    const TrainingStep step{1, static_cast<std::uint64_t>(n)};
    const at::Tensor logits = model->forward(batch, &step);
    const at::Tensor loss = model->loss(logits, batch).mean;
    loss.backward();
    out[concat(n, ".logits")] = logits.detach();
    out[concat(n, ".loss")] = loss.detach();
    NamedTensors gradients;
    for (const auto& [name, parameter] : model->parameters()) {
      const bool encoder =
          name.find("encoder") != std::string::npos || name.find("embeddings") != std::string::npos;
      if (encoder && n > 0 && n + 1 < steps) continue;
      gradients.emplace_back(name, parameter.grad());
    }
    for (const auto& [name, gradient] : hugging_face_names(gradients)) {
      out[concat(n, ".grad.", name)] = gradient.clone();
    }
    optimizer->step();
    model->parameters_changed();
    for (const auto& [name, parameter] : model->parameters()) parameter.mutable_grad().reset();
  }
  return out;
}

int run(const std::vector<std::string>& arguments) {
  const bool training = arguments.size() == 6 && arguments[0] == "train";
  if (!training && !(arguments.size() == 4 && arguments[0] == "evaluate")) {
    std::fprintf(stderr,
                 "usage: model_numbers evaluate MODEL IN OUT | train MODEL IN OUT BATCH LR\n");
    return 2;
  }
  const ModelSource source = find_model(arguments[1], *classify());
  const Tensors in = read_tensors(arguments[2]);
  write_tensors(arguments[3], training ? train(source, in, std::atoll(arguments[4].c_str()),
                                               std::atof(arguments[5].c_str()))
                                       : evaluate(source, in));
  return 0;
}

}  // namespace
}  // namespace bp::trainer

int main(int argc, char** argv) {
  try {
    return bp::trainer::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "model_numbers: %s\n", error.what());
    return 1;
  }
}

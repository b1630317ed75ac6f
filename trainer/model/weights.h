// A model as a Hugging Face folder: config.json, model.safetensors, vocab.txt,
// tokenizer_config.json.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/model/bert.h"

namespace bp::trainer {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// Tensors with the names of Bert::parameters() (they themselves, or their gradients) under Hugging
// Face's names: query, key and value apart. The results share memory with what is given, not its
// graph.
[[nodiscard]] NamedTensors hugging_face_names(const NamedTensors& tensors);

// What a file of weights and a model have not in common. `missing` has Hugging Face's names, the
// others the file's. All are sorted.
struct LoadReport {
  std::vector<std::string> missing;  // in the model, not in the file: they keep their first values
  std::vector<std::string> unexpected;  // in the file, not in the model: ignored
  std::vector<std::string> misshaped;   // "classifier.weight: [3, 128] in the file, [2, 128] here"
  [[nodiscard]] bool complete() const { return missing.empty() && misshaped.empty(); }
};

enum class Head : std::uint8_t { take, leave };

// Sets what the file, model.safetensors or pytorch_model.bin, has. Floating point of any width is
// taken. The prefix "bert." may be missing, DDP's "module." may stand before, and LayerNorm's
// parameters may be called gamma and beta, as in old files. With Head::leave classifier.* keeps its
// first values, and counts as missing. Calls parameters_changed(). Throws io or invalid_argument,
// naming the file: broken, weights of whole numbers, two that mean the same.
LoadReport load_weights(Bert& model, const std::string& path, Head head = Head::take);

void save_weights(const Bert& model, const std::string& path);

// The model's parameters by the names and shapes of model.safetensors: views of its memory.
[[nodiscard]] NamedTensors named_weights(const Bert& model);

struct TokenizerFiles {
  std::vector<std::string> vocabulary;  // lines of vocab.txt
  bool lower_case = true;
  int max_length = 128;
};

// What a model's folder holds besides its weights, as (name, content): config.json,
// tokenizer_config.json, vocab.txt.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> model_texts(
    const BertConfig& config, const TokenizerFiles& tokenizer);

// Writes all four files into a folder beside `folder` and gives it that name, in exchange for a
// `folder` that is there, so that readers see the old model or the new one, whole; all of it is
// then on disk. Where the file system cannot exchange two names (NFS), no model is there for a
// moment. Throws io, naming the file and, where the disk is full, how much is missing; a full disk
// leaves `folder` as it was.
void save_model(const Bert& model, const TokenizerFiles& tokenizer, const std::string& folder);

}  // namespace bp::trainer

// Saves and loads a model as a Hugging Face folder: config.json, model.safetensors, vocab.txt,
// tokenizer_config.json. For a model with adapters (lora.h) the folder is one of PEFT's with the
// adapters and the head alone, and config.json, vocab.txt and tokenizer_config.json.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "trainer/model/bert.h"

namespace bp::trainer {

// Returns tensors that are named as in Bert::parameters() (the parameters, or their gradients)
// under Hugging Face's names, with query, key and value separate. The results share the given
// tensors' memory, not their graph.
[[nodiscard]] NamedTensors hugging_face_names(const NamedTensors& tensors);

// The differences between a file of weights and a model. `missing` has Hugging Face's names, the
// others have the file's. All are sorted.
struct LoadReport {
  // In the model, not in the file: they keep their initial values.
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;  // in the file, not in the model: ignored
  std::vector<std::string> misshaped;   // "classifier.weight: [3, 128] in the file, [2, 128] here"
  [[nodiscard]] bool complete() const { return missing.empty() && misshaped.empty(); }
};

// Sets the parameters that the file (model.safetensors or pytorch_model.bin) has, from any
// floating-point type. The encoder's prefix, such as "bert.", may be missing, names may have DDP's
// prefix "module." or torch.compile()'s "_orig_mod.", and LayerNorm's parameters may be called
// gamma and beta, as in old files. Parameters whose names begin with one of `left` keep their
// initial values and count as missing. A tied weight may have either of its names, or both with
// equal values. Calls parameters_changed(). Throws io or invalid_argument, naming the file, if it
// is broken, has weights of whole numbers, or has two tensors for one parameter. With `reads` false
// it only compares names and shapes.
LoadReport load_weights(Bert& model,
                        const std::string& path,
                        const std::vector<std::string>& left = {},
                        bool reads = true);

// The same for a file of adapters in PEFT's format, adapter_model.safetensors, and the parameters
// that LoraConfig::saves() names. The others are the base's, which load_weights() sets before.
LoadReport load_adapters(Bert& model, const std::string& path);

// Sets what save_model() and checkpoints save of this model from the file of their `folder`. Throws
// io, or invalid_argument if the file is not of such a model.
void load_saved(Bert& model, const std::string& folder);

// Writes model.safetensors, or adapter_model.safetensors for a model with adapters, without what
// the model has only in training.
void save_weights(const Bert& model, const std::string& path);

// Returns the model's parameters but its adapters with the names and shapes of model.safetensors,
// as views of its memory.
[[nodiscard]] NamedTensors named_weights(const Bert& model);

// Returns the same tensors on the CPU. Those that lie there already share their memory.
[[nodiscard]] NamedTensors on_cpu(NamedTensors tensors);

// Returns the parameters that are saved: all, or what LoraConfig::saves() names.
[[nodiscard]] NamedTensors saved_parameters(const Bert& model);
// Returns what is saved of a model of which `tensors` are the parameters, or tensors like them,
// named as in its file of weights. See save_weights().
[[nodiscard]] NamedTensors saved_tensors(const Bert& model, const NamedTensors& tensors);
// Returns the name of that file.
[[nodiscard]] const char* weights_file(const Bert& model);

using NamedTexts = std::vector<std::pair<std::string, std::string>>;  // (name, content) of files

// Returns the files of a model's folder besides its weights: config.json and `texts`, which are its
// tokenizer_files(), and of adapters adapter_config.json and, if the base's hash is known,
// adapter_base.json.
[[nodiscard]] NamedTexts model_texts(const Bert& model, NamedTexts texts);

// Writes all files into a new folder next to `folder`, then exchanges it with `folder` if that
// exists, so that readers see either the old or the new model, complete. Afterwards all of it is on
// disk. If the file system cannot exchange two names (NFS), no model exists for a moment. Throws
// io, naming the file and, if the disk is full, the missing space; a full disk leaves `folder` as
// it was.
void save_model(const Bert& model, const NamedTexts& tokenizer, const std::string& folder);

}  // namespace bp::trainer

// Where a model comes from: the name of a preset or of a program's own model, or a Hugging Face
// folder.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>

#include "base/input_error.h"
#include "bp/error.h"
#include "trainer/common/say.h"
#include "trainer/model/bert.h"
#include "trainer/model/files/tokenizer_config.h"
#include "trainer/model/lora.h"
#include "trainer/model/weights.h"
#include "trainer/options/options.h"
#include "trainer/share/shared_data.h"
#include "trainer/store/sample_store.h"
#include "trainer/tasks/task.h"
#include "trainer/tasks/task_input.h"
#include "trainer/text/tokenizer.h"

namespace bp::trainer {

inline const std::string kModelFolderHint =
    "a Hugging Face folder has config.json, and to start from weights model.safetensors (or "
    "pytorch_model.bin) and vocab.txt (or tokenizer.json)";

// Calls `body`, which reads files of a model. Throws InputError: 66 for a file that cannot be read,
// and 65 for wrong content.
template <class Body>
auto as_input_error(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    const bool unreadable = error.code() == ErrorCode::io;
    throw InputError(unreadable ? 66 : 65, error.what(), unreadable ? kModelFolderHint : "");
  }
}

// Folders of adapters are those of PEFT (trainer/model/lora.h), beside a base model.
struct ModelSource {
  std::string name;  // as typed
  EncoderSpec config;
  std::string weights;  // model.safetensors, pytorch_model.bin or an index; empty: from scratch
  // Of a folder of adapters: theirs, the file with them, and the base's folder; `weights` is then
  // the base's.
  std::optional<LoraConfig> adapters = {};
  std::string adapter_weights;
  std::string base;
  std::string vocabulary;            // vocab.txt, tokenizer.json or vocab.json; empty: none there
  TokenizerConfig tokenizer;         // tokenizer_config.json's
  std::shared_ptr<const Task> task;  // what the model is trained for
  std::string task_name;
  [[nodiscard]] bool pretrained() const { return !weights.empty(); }
  // The longest sample that it takes, in tokens.
  [[nodiscard]] int max_length() const;
};

// `input`: of the task that the model is trained for. `family`: of a model from scratch. Throws
// InputError: 2 with the nearest preset for a name that is neither; 65 or 66 for a folder that
// cannot be read, whose files contradict each other, or whose model bp does not support.
[[nodiscard]] ModelSource find_model(const std::string& model,
                                     const TaskInput& input,
                                     const Extensions& extensions = {},
                                     const std::string& family = "bert");

// Throws InputError (2) unless the source can be trained as `options` ask: a folder of adapters
// cannot, and --lora needs weights and names of products.
void require_base(const ModelSource& source, const TrainOptions& options);

// Before training: sets the case, and the vocabulary unless the user named one, as the model needs
// them. Throws InputError (2) if the model has weights and no vocabulary is known, or if the user
// wants to keep the case and the weights are for lower case.
void prepare_for(const ModelSource& source, JobData& data);

// Throws InputError if the model does not fit the store: 65 if it is for another task, if an array
// has another form than that of `input`, the model's task, or if the vocabulary or the case is not
// the one that the model was trained with, so that ids mean other words; 2 if samples are longer
// than the model takes.
void check_samples(const SampleStore& store, const ModelSource& source, const TaskInput& input);

// Throws InputError (65) if a vocabulary of so many words is not the model's. `vocabulary`: its
// name.
void check_words(std::size_t words, const ModelSource& source, const std::string& vocabulary);

// Sets what a new model takes from the vocabulary of the store. Throws InputError (65) if that is
// not one that a model of the source can have.
void fit_words(const ModelSource& source, const SampleStore& store, EncoderSpec& config);

// Makes a model to train on the store. From scratch it has the size of the store's vocabulary. With
// weights, the task says which are newly initialized; `say` gets a line for these, and one for
// weights that the model does not use. Throws InputError (65) if any other weight is missing or has
// another shape. With `has_values` false the parameters are undefined: training gives all ranks
// those of rank 0, and memory that nobody writes costs nothing.
[[nodiscard]] std::unique_ptr<Bert> make_model(const ModelSource& source,
                                               const RunSettings& settings,
                                               const SampleStore& store,
                                               const Say& say,
                                               bool has_values = true);

// Loads the model for evaluation in `precision`. Throws InputError (65) if a weight is missing, and
// 66 if there are no weights.
[[nodiscard]] std::unique_ptr<Bert> load_model(const ModelSource& source,
                                               c10::Device device = c10::kCPU,
                                               Precision precision = Precision::fp32);
// The same, collective. On CPUs, only rank 0 reads the weights, and a host has them once for all
// its ranks. No rank may change them.
[[nodiscard]] std::unique_ptr<Bert> load_model(Communicator& world,
                                               const ModelSource& source,
                                               c10::Device device,
                                               Precision precision = Precision::fp32);

}  // namespace bp::trainer

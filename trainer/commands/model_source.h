// Where a model comes from: a preset's name, or a Hugging Face folder.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trainer/data/sample_store.h"
#include "trainer/model/bert.h"
#include "trainer/model/tokenizer_config.h"
#include "trainer/options/options.h"

namespace bp::trainer {

struct ModelSource {
  std::string name;  // as the user said it
  BertConfig config;
  std::string weights;        // model.safetensors or pytorch_model.bin; empty: from scratch
  std::string vocabulary;     // vocab.txt; empty: none there
  TokenizerConfig tokenizer;  // tokenizer_config.json's
  [[nodiscard]] bool pretrained() const { return !weights.empty(); }
  // The longest sample that it takes, in tokens.
  [[nodiscard]] int max_length() const;
};

// Throws InputError: 2 for a name that is neither (naming the nearest preset), 65 or 66 for a
// folder that can't be read, whose files contradict each other, or whose model bp does not have.
[[nodiscard]] ModelSource find_model(const std::string& model);

// For training: sets the vocabulary, unless one was named, and the case as the model needs them.
// Throws InputError (2) when there are weights without a vocabulary.
void prepare_for(const ModelSource& source, Options& options);

// Ids mean the same words only with the vocabulary and the case that the model was trained with:
// throws InputError (65), or 2 when samples are longer than the model takes.
void check_samples(const SampleStore& store, const ModelSource& source);

// A model for the store's labels and vocabulary. From scratch it has as many words as the
// vocabulary. With weights `say` gets a line each for what was missing (a pooler or a head, which
// are begun anew), and for what the file has beyond the model; a head for other labels is begun
// anew too. Throws InputError (65) when anything else is missing or of another shape.
[[nodiscard]] std::unique_ptr<Bert> make_model(const ModelSource& source,
                                               const Options& options,
                                               const SampleStore& store,
                                               const std::function<void(const std::string&)>& say);

// The model for evaluation, as it is: its own labels. Throws InputError (65) when anything is
// missing.
[[nodiscard]] std::unique_ptr<Bert> load_model(const ModelSource& source);

}  // namespace bp::trainer

// Where a model comes from: a preset's name, or a Hugging Face folder.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trainer/data/sample_store.h"
#include "trainer/model/bert.h"
#include "trainer/train/options.h"

namespace bp::trainer {

struct ModelSource {
  std::string name;  // as the user said it
  BertConfig config;
  std::string weights;     // model.safetensors; empty: from scratch
  std::string vocabulary;  // vocab.txt; empty: none there
  bool lower_case = true;
  [[nodiscard]] bool pretrained() const { return !weights.empty(); }
};

// Throws InputError: 2 for a name that is neither (naming the nearest preset), 65 or 66 for a
// folder that can't be read.
[[nodiscard]] ModelSource find_model(const std::string& model);

// A model for the store's labels and vocabulary. From scratch it has as many words as the
// vocabulary. `say` gets a line for each kind of name that does not fit. Throws InputError (65)
// when more than the head is missing, or when the samples don't fit the model.
[[nodiscard]] std::unique_ptr<Bert> make_model(const ModelSource& source,
                                               const Options& options,
                                               const SampleStore& store,
                                               const std::function<void(const std::string&)>& say);

// The model for evaluation, as it is: its own labels. Throws InputError (65) when anything is
// missing.
[[nodiscard]] std::unique_ptr<Bert> load_model(const ModelSource& source);

}  // namespace bp::trainer

// The part of config.json that belongs to a head whose outputs are named labels. Does not use
// LibTorch.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/model/config.h"

namespace bp::trainer {

struct LabelConfig {
  std::vector<std::string> labels = {};  // index = output; empty: the model has no such head
  std::optional<double> dropout = {};    // before the head; unset: the encoder's
  bool operator==(const LabelConfig&) const = default;
};

// Labels come from id2label, else from label2id; a Hugging Face model for classification that has
// neither has two, LABEL_0 and LABEL_1. Throws invalid_argument, without a file's name,
// for invalid values.
[[nodiscard]] LabelConfig label_config_of(const EncoderSpec& config);

// Returns whether the only output of a class for sequence classification is a number: problem_type
// says so, or it says nothing and there is one label, as transformers reads it.
[[nodiscard]] bool predicts_number(const EncoderSpec& config);

// Returns the keys, for EncoderSpec::head, of the Hugging Face model class for `purpose`, such as
// "ForTokenClassification". A key that the encoder has itself is not among them.
[[nodiscard]] std::map<std::string, std::string> label_keys(const LabelConfig& config,
                                                            const EncoderSpec& encoder,
                                                            std::string_view purpose);

// Returns the place in `known`, the model's labels, of each of a store's. Throws InputError (65)
// for one that the model does not have. `what`: "label".
[[nodiscard]] std::vector<int> map_labels(const std::vector<std::string>& names,
                                          const std::vector<std::string>& known,
                                          const std::string& what);

// Returns the first ten labels, and their number if there are more: "good, bad", "1, 2, ..., 10,
// ... (1000)".
[[nodiscard]] std::string shown_labels(const std::vector<std::string>& labels);

}  // namespace bp::trainer

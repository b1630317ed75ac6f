// The shape of a BERT, as Hugging Face's config.json says it. No LibTorch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bp::trainer {

struct BertConfig {
  int vocabulary = 30522;
  int hidden = 128;
  int layers = 2;
  int heads = 2;
  int intermediate = 512;
  int positions = 512;  // the longest sample
  int token_types = 2;
  int pad_id = 0;
  double norm_epsilon = 1e-12;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  std::optional<double> classifier_dropout;  // none: as hidden_dropout
  double initializer_range = 0.02;
  std::vector<std::string> labels;  // of the classification head; index = id
  bool operator==(const BertConfig&) const = default;
};

// "tiny" 2/128, "mini" 4/256, "small" 4/512, "medium" 8/512, "base" 12/768 and "large" 24/1024:
// layers and hidden size of the published BERT models, 64 numbers a head.
[[nodiscard]] std::optional<BertConfig> preset(std::string_view name);
[[nodiscard]] const std::vector<std::string>& preset_names();

// Throws invalid_argument that names what does not fit: a size below 1, heads that do not divide
// hidden, rows wider than the kernels take, a share outside 0..1, more than 2^33 parameters.
void check(const BertConfig& config);

// Reads config.json of a BERT. Keys that it does not know are passed over; those that are absent
// keep BERT's defaults, except the sizes, which must be there. Labels come from id2label, else from
// label2id. Throws invalid_argument, naming `path`, for broken JSON, values that make no sense, and
// models that bp does not have (another model_type, an activation other than "gelu", relative
// positions, decoders, quantised or pruned ones); io when it can't be read.
[[nodiscard]] BertConfig read_config(const std::string& path);
// The same from the file's text; errors don't name it.
[[nodiscard]] BertConfig parse_config(const std::string& text);

// The text of config.json for BertForSequenceClassification, all keys that transformers writes.
[[nodiscard]] std::string config_json(const BertConfig& config);

}  // namespace bp::trainer

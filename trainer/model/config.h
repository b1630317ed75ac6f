// The configuration of a BERT, as in Hugging Face's config.json. Does not use LibTorch.
#pragma once

#include <map>
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
  int positions = 512;  // tokens of the longest sample
  int token_types = 2;
  int pad_id = 0;
  double norm_epsilon = 1e-12;
  double hidden_dropout = 0.1;
  double attention_dropout = 0.1;
  double initializer_range = 0.02;
  // The keys that belong to the head, which the encoder does not know, with their values as JSON:
  // {"problem_type", "\"regression\""}. No value holds lists or objects in others.
  std::map<std::string, std::string> head;
  bool operator==(const BertConfig&) const = default;
};

// Returns the preset of this name; nothing if there is none. The presets have the layers and hidden
// sizes of the published BERT models, with 64 numbers per head: "tiny" 2/128, "mini" 4/256, "small"
// 4/512, "medium" 8/512, "base" 12/768 and "large" 24/1024.
[[nodiscard]] std::optional<BertConfig> preset(std::string_view name);
[[nodiscard]] const std::vector<std::string>& preset_names();

// Returns the standard deviation of the initial weights of a model that is trained from scratch.
[[nodiscard]] double initial_deviation(int hidden);

// Throws invalid_argument naming the value that is wrong: a size below 1, a number of heads that
// does not divide hidden, rows wider than the kernels support, a share outside 0..1, or more than
// 2^33 parameters.
void check(const BertConfig& config);

// Reads a BERT's config.json. Other keys go into `head`. Absent keys keep BERT's defaults, except
// the sizes, which are required. Throws invalid_argument, naming `path`, for broken JSON, invalid
// values, and models that bp does not have (another model_type, an activation other than "gelu",
// relative positions, decoders, quantised or pruned models); throws io if the file cannot be read.
[[nodiscard]] BertConfig read_config(const std::string& path);
// Parses the file's text; errors do not name the file.
[[nodiscard]] BertConfig parse_config(const std::string& text);

// Returns the text of config.json.
[[nodiscard]] std::string config_json(const BertConfig& config);

}  // namespace bp::trainer

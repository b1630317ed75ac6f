// How a model's texts become tokens, as Hugging Face's tokenizer_config.json says it. No LibTorch
// here.
#pragma once

#include <optional>
#include <string>

namespace bp::trainer {

struct TokenizerConfig {
  bool lower_case = true;
  std::optional<int> max_length;  // the longest sample that the model is meant for, in tokens
  bool operator==(const TokenizerConfig&) const = default;
};

// Keys that it does not know are passed over. Throws invalid_argument, naming `path`, for broken
// JSON and tokenizers that bp does not have (see parse_tokenizer_config); io when it can't be read.
[[nodiscard]] TokenizerConfig read_tokenizer_config(const std::string& path);

// The same from the file's text; errors don't name it. Refused: other classes than BERT's,
// strip_accents other than do_lower_case, and texts that are not split at ideographs or not at all.
[[nodiscard]] TokenizerConfig parse_tokenizer_config(const std::string& text);

// The file's text, for BertTokenizer.
[[nodiscard]] std::string tokenizer_config_json(const TokenizerConfig& config);

}  // namespace bp::trainer

// The tokenizer settings of a model, as in Hugging Face's tokenizer_config.json. Does not use
// LibTorch.
#pragma once

#include <optional>
#include <string>

namespace bp::trainer {

struct TokenizerConfig {
  bool lower_case = true;
  std::optional<int> max_length;  // longest sample for which the model is meant, in tokens
  bool operator==(const TokenizerConfig&) const = default;
};

// Reads a file. Ignores unknown keys. Throws invalid_argument, naming `path`, for broken JSON and
// tokenizers that bp does not have (see parse_tokenizer_config); throws io if the file cannot be
// read.
[[nodiscard]] TokenizerConfig read_tokenizer_config(const std::string& path);

// Parses the file's text; errors do not name the file. Refuses classes other than BERT's,
// strip_accents that differs from do_lower_case, and tokenizers that do not split at ideographs or
// do not split texts into words.
[[nodiscard]] TokenizerConfig parse_tokenizer_config(const std::string& text);

// Returns the file's text for BertTokenizer.
[[nodiscard]] std::string tokenizer_config_json(const TokenizerConfig& config);

}  // namespace bp::trainer

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

// A model's special tokens, by default BERT's.
struct SpecialNames {
  std::string pad = "[PAD]";
  std::string unknown = "[UNK]";
  std::string cls = "[CLS]";
  std::string sep = "[SEP]";
  std::string mask = "[MASK]";
};

// What decides how texts become tokens: this file, or a tokenizer.json beside it. Then this file
// only says the length.
enum class Decides { this_file, tokenizer_json };

// Reads a file. Ignores unknown keys. Throws invalid_argument, naming `path`, for broken JSON and
// tokenizers that bp does not have (see parse_tokenizer_config); throws io if the file cannot be
// read.
[[nodiscard]] TokenizerConfig read_tokenizer_config(const std::string& path,
                                                    Decides decides = Decides::this_file);

// Parses the file's text; errors do not name the file. Refuses classes other than BERT's,
// strip_accents that differs from do_lower_case, and tokenizers that do not split at ideographs or
// do not split texts into words.
[[nodiscard]] TokenizerConfig parse_tokenizer_config(const std::string& text,
                                                     Decides decides = Decides::this_file);

// Returns the file's text for BertTokenizer, or for a tokenizer.json with these special tokens.
[[nodiscard]] std::string tokenizer_config_json(const TokenizerConfig& config);
[[nodiscard]] std::string tokenizer_config_json(const TokenizerConfig& config,
                                                const SpecialNames& names);

}  // namespace bp::trainer

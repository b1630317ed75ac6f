// The tokenizer settings of a model, as in Hugging Face's tokenizer_config.json. Does not use
// LibTorch.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/text/tokenizer.h"

namespace bp::trainer {

struct TokenizerConfig {
  bool lower_case = true;
  std::optional<int> max_length;  // longest sample for which the model is meant, in tokens
  bool operator==(const TokenizerConfig&) const = default;
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

// Returns the file's text for the tokenizer of a vocabulary. A special token that the vocabulary
// lacks has BERT's name.
[[nodiscard]] std::string tokenizer_config_json(const TokenizerConfig& config,
                                                const Vocabulary& vocabulary = {});

// Returns the files of a tokenizer in a model's folder, as (name, content): tokenizer_config.json,
// and vocab.txt or tokenizer.json; of RoBERTa's tokenizer also vocab.json and merges.txt.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> tokenizer_files(
    const Vocabulary& vocabulary, const TokenizerConfig& config);

}  // namespace bp::trainer

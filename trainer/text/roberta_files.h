// RoBERTa's tokenizer in its older files, vocab.json and merges.txt, and as a tokenizer.json.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bp::trainer {

// The special tokens, in the order of their ids in a trained vocabulary.
inline constexpr std::array<std::string_view, 5> kRobertaTokens = {"<s>", "<pad>", "</s>", "<unk>",
                                                                   "<mask>"};

// Returns the tokenizer.json of these two files. Throws invalid_argument naming `path`, the first.
[[nodiscard]] std::string roberta_json(const std::string& vocabulary,
                                       const std::string& merges,
                                       const std::string& path);
// The same of tokens by their ids, which include the special ones, and merges in their order.
[[nodiscard]] std::string roberta_json(
    const std::vector<std::string>& tokens,
    const std::vector<std::pair<std::string, std::string>>& merges);

// Returns the two files, as (name, content), of such a tokenizer.json; none of another one.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> roberta_files(
    const std::string& json);

}  // namespace bp::trainer

// Names that users of other trainers type, and bert_train's names for the same.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

// Returns the hint for an unknown option, `word` as typed ("--batch_size"): the one of `names`
// (without dashes) that it stands for in another trainer, or the nearest one, or "" if neither
// exists.
[[nodiscard]] std::string hint_for_option(const std::string& word,
                                          const std::vector<std::string>& names);

// Returns the hint for a first word that is neither a file nor a command, or "" if it is not near a
// command.
[[nodiscard]] std::string hint_for_command(const std::string& word);

}  // namespace bp::trainer

// What users of other trainers type, and what it is called here.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

// The hint for an option that does not exist, `word` as typed ("--batch_size"): the nearest of
// `names` (without dashes), or the one that another trainer's word stands for; "" where neither is
// known.
[[nodiscard]] std::string hint_for_option(const std::string& word,
                                          const std::vector<std::string>& names);

// The hint for a first word that is neither a file nor a command: "" where no command was meant.
[[nodiscard]] std::string hint_for_command(const std::string& word);

}  // namespace bp::trainer

// Help that concerns all commands of bert_train: their list, JSON of all options, completion.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/commands/command_line.h"

namespace bp::trainer {

struct Command {
  std::string_view name;      // empty: training, which has none
  std::string_view usage;     // its arguments: "RUN DATA"
  std::string_view sentence;  // what it does
  CommandLine (*parse)(const std::vector<std::string>& arguments, const Extensions& extensions);
};

// Returns the list for the end of --help.
[[nodiscard]] std::string commands_text(std::span<const Command> commands);

// Returns what to print if the arguments ask for the help of a command (`--help eval`), for JSON of
// all commands (`--help=json`) or for `--completion bash`, else "". Throws InputError (2) for
// another shell.
[[nodiscard]] std::string program_help(const std::vector<std::string>& arguments,
                                       std::span<const Command> commands,
                                       const Extensions& extensions);

}  // namespace bp::trainer

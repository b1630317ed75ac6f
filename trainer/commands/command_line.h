// The command line of bert_train.
#pragma once

#include <string>
#include <vector>

#include "trainer/commands/commands.h"

namespace bp::trainer {

struct CommandLine {
  AnyOptions options;
  std::string instead;  // if not empty: print this, the help or the version, and exit
};

// Parses `arguments`, which do not contain the program's name. `extensions`: of the program. Throws
// InputError (2) with the nearest valid option or value.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& arguments,
                                             const Extensions& extensions = {});

}  // namespace bp::trainer

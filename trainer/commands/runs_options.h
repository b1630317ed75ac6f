// The command lines of `bert_train report` and `bert_train runs`.
#pragma once

#include <string>
#include <vector>

#include "trainer/commands/command_line.h"

namespace bp::trainer {

[[nodiscard]] CommandLine parse_report(const std::vector<std::string>& arguments);
[[nodiscard]] CommandLine parse_runs(const std::vector<std::string>& arguments);

}  // namespace bp::trainer

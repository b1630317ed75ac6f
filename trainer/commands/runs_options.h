// The command lines of the commands that only read or mark runs: report, runs and stop.
#pragma once

#include <string>
#include <vector>

#include "trainer/commands/command_line.h"

namespace bp::trainer {

[[nodiscard]] CommandLine parse_report(const std::vector<std::string>& arguments);
[[nodiscard]] CommandLine parse_runs(const std::vector<std::string>& arguments);
[[nodiscard]] CommandLine parse_stop(const std::vector<std::string>& arguments);

}  // namespace bp::trainer

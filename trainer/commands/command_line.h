// The command line of bert_train.
#pragma once

#include <string>
#include <vector>

#include "trainer/options/options.h"

namespace bp::trainer {

struct CommandLine {
  Options options;
  std::string instead;  // not empty: print this, help or version, and end
};

// `arguments` without the program's name. Throws InputError (exit code 2) that names the nearest
// right option or value.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& arguments);

// Replaces the value of a setting, or adds it: what was chosen later than the command line.
void set(std::vector<Setting>& settings, const Setting& setting);

}  // namespace bp::trainer

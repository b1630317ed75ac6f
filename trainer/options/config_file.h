// --config FILE.yaml: a file with options by their long names. The config.yaml of a run is such a
// file.
#pragma once

#include <string>
#include <vector>

#include "base/options/option_set.h"

namespace bp::trainer {

// Throws InputError: 66 if the file cannot be read; 65 with the line if it is not YAML, has a key
// twice, or has a map or a list in a list as a value.
[[nodiscard]] std::vector<ConfigValue> read_options(const std::string& path);

// Returns the value of --NAME in these arguments, or "". For options that decide which others
// there are.
[[nodiscard]] std::string typed_value(const std::vector<std::string>& arguments,
                                      const std::string& name);
// Returns the file that these arguments name with --config, or "".
[[nodiscard]] std::string config_in(const std::vector<std::string>& arguments);

}  // namespace bp::trainer

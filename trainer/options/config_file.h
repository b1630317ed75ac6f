// --config FILE.yaml: options from a file, by the names of the long options. A run's config.yaml is
// such a file.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

struct ConfigValue {
  std::string key;
  std::string value;  // of a list its elements with commas between; empty: as if it was not there
  std::string place;  // "my.yaml, line 3"
};

// Throws InputError: 66 when it cannot be read, 65 naming the line for what is no such file (not
// YAML, a key twice, a map or a list in a list for a value).
[[nodiscard]] std::vector<ConfigValue> read_options(const std::string& path);

// The file that these arguments name with --config, or "".
[[nodiscard]] std::string config_in(const std::vector<std::string>& arguments);

}  // namespace bp::trainer

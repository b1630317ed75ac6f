// An option of a run with the value that was in effect, as text: for the report, config.yaml and
// the checkpoint.
#pragma once

#include <string>
#include <vector>

namespace bp::trainer {

struct Setting {
  std::string key = {};
  std::string value = {};
  std::string origin = {};  // "command line", "default"; may be empty
};

// Returns the value of the setting with this key; "" if there is none.
[[nodiscard]] std::string value_of(const std::vector<Setting>& settings, const std::string& key);

}  // namespace bp::trainer

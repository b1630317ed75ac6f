// An option with the value that was in effect, as text: for reports, config.yaml and checkpoints.
#pragma once

#include <string>
#include <vector>

namespace bp {

struct Setting {
  std::string key = {};
  std::string value = {};
  std::string origin = {};  // "command line", "default"; may be empty
};

// Returns the value of the setting with this key; "" if there is none.
[[nodiscard]] std::string value_of(const std::vector<Setting>& settings, const std::string& key);

// Replaces the value of a setting, or adds it, for a value that is chosen after parsing.
void set(std::vector<Setting>& settings, const Setting& setting);

}  // namespace bp

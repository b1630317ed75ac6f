// config.yaml: the options of a run, written into its folder.
#pragma once

#include <string>
#include <vector>

#include "base/options/setting.h"

namespace bp::trainer {

// Returns the text of the file: keys are the long options, comments say where each value comes
// from.
[[nodiscard]] std::string settings_yaml(const std::vector<Setting>& settings);

// Reads such a file. Each setting has `path` as its origin. Throws InputError (65) with the file
// and the line.
[[nodiscard]] std::vector<Setting> read_settings(const std::string& path);

// The same, but each setting has the origin that the file names in its comment.
[[nodiscard]] std::vector<Setting> read_settings_with_origins(const std::string& path);

}  // namespace bp::trainer

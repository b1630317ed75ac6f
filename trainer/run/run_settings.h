// config.yaml: the options of a run, written into its folder. The paths among them are relative to
// the folder in which the run was started.
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

// Writes the settings to RUN/config.yaml. Comments at its end name this process's current folder,
// as a path and as seen from the run's folder, unless a comment cannot hold it.
void write_run_settings(const std::string& run, const std::vector<Setting>& settings);

// Returns where `path`, an option of the run, leads from the current folder: `path` itself if it is
// absolute or exists here; else the first of these that exists: the path in the folder that lies
// where the run's starting folder lay, as seen from the run; and the path in that folder itself.
// Returns `path` if neither exists, and for a run that does not say where it was started.
[[nodiscard]] std::string path_of_run(const std::string& run, const std::string& path);

// Returns the settings of RUN/config.yaml, with what path_of_run() makes of their paths, none if
// there is no such file. Throws InputError (65) as read_settings() does.
[[nodiscard]] std::vector<Setting> read_run_settings(const std::string& run);

// The same for settings that have been read before.
[[nodiscard]] std::vector<Setting> with_paths_of_run(const std::string& run,
                                                     std::vector<Setting> settings);

}  // namespace bp::trainer

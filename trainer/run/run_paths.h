// The paths among the options of a run, which are relative to the folder in which it was started.
#pragma once

#include <string>
#include <vector>

#include "base/options/setting.h"

namespace bp::trainer {

// Writes the settings to RUN/config.yaml. Comments at its end name this process's current folder,
// as a path and as seen from the run's folder, unless a comment cannot hold it.
void write_run_settings(const std::string& run, const std::vector<Setting>& settings);

// Returns where `path`, an option of the run, leads from the current folder: `path` itself if it is
// absolute or exists here; else the first of these that exists: the path in the folder that lies
// where the run's starting folder lay, as seen from the run; and the path in that folder itself.
// Returns `path` if neither exists, and for a run that does not say where it was started.
[[nodiscard]] std::string path_of_run(const std::string& run, const std::string& path);

// Returns the settings of RUN/config.yaml with such paths, none if there is no such file. Throws
// InputError (65) as read_settings() does.
[[nodiscard]] std::vector<Setting> read_run_settings(const std::string& run);

// The same for settings that have been read before.
[[nodiscard]] std::vector<Setting> with_paths_of_run(const std::string& run,
                                                     std::vector<Setting> settings);

}  // namespace bp::trainer

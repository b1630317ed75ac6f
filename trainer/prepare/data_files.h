// The files that a name on the command line stands for.
#pragma once

#include <string>
#include <vector>

#include "trainer/prepare/prepare.h"

namespace bp::trainer {

// Returns what the task says (TaskData::files_of), or `path` itself if it is not a folder, else the
// files in the folder, sorted by name, without those whose name begins with a dot. Throws
// InputError: 66 if the folder has no files, 65 for an entry that is not a file of data by its
// name. With PrepareOptions::format any name will do.
[[nodiscard]] std::vector<std::string> data_files(const std::string& path,
                                                  const PrepareOptions& options);

// Returns the files of `path` and then those of `more`. Throws InputError (2) if one is given
// twice.
[[nodiscard]] std::vector<std::string> data_files(const std::string& path,
                                                  const std::vector<std::string>& more,
                                                  const PrepareOptions& options);

}  // namespace bp::trainer

// Files that are there complete or not at all.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// Writes `content` to `path`.part, syncs it and renames it over `path`. Throws io, naming path; the
// old file is then untouched and no part is left.
void write_whole_file(const std::string& path, std::string_view content);

}  // namespace bp::trainer

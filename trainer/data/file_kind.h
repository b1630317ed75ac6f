// Files that are no table of text, told by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// Throws InputError (65) when `start`, the first bytes of the file at `path`, are those of another
// kind of file: UTF-16 or UTF-32 text, JSON, or a known binary format. The error names the kind and
// the command or the step that makes a CSV file of it.
void refuse_other_kinds(const std::string& path, std::string_view start);

}  // namespace bp::trainer

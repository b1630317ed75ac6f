// Recognizes files that are not text tables by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// Throws InputError (65) if `start`, the first bytes of the file at `path`, are those of another
// kind of file: UTF-16 or UTF-32 text, JSON, or a known binary format. The error names the kind and
// a command or step that converts the file to CSV.
void refuse_other_kinds(const std::string& path, std::string_view start);

}  // namespace bp::trainer

// Recognizes kinds of files by their first bytes.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// Throws InputError (65) if `start`, the first bytes of the file at `path`, are those of another
// kind of file: UTF-16 or UTF-32 text, a JSON array, or a known binary format. The error names the
// kind and a command or step that converts the file.
void refuse_other_kinds(const std::string& path, std::string_view start);

// Returns whether the file begins with a JSON object: {"text" or {}. No header and hardly any text
// of a table begins so.
[[nodiscard]] bool begins_with_object(std::string_view start);

}  // namespace bp::trainer

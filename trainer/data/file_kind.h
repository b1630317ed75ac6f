// Recognizes kinds of text by the first bytes of a file. For other kinds see binary_kind.h.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// `start` are the first bytes of the file at `path`. Each error is an InputError (65) that names
// the kind of the file, and a command, step or option that helps.

// Returns whether the file begins with the byte order mark of UTF-16.
[[nodiscard]] bool has_utf16_mark(std::string_view start);

// Refuses UTF-16 and UTF-32, with or without a byte order mark, where UTF-8 is expected.
void refuse_wide_text(const std::string& path, std::string_view start);

// Refuses bytes that are neither UTF-8 nor text of another encoding: they contain a zero byte.
void refuse_binary_content(const std::string& path, std::string_view start);

// Refuses a JSON array of objects: [{"text". No header and hardly any text of a table begins so.
void refuse_json_array(const std::string& path, std::string_view start);

// Returns whether the file begins with a JSON object: {"text" or {}. No header and hardly any text
// of a table begins so.
[[nodiscard]] bool begins_with_object(std::string_view start);

}  // namespace bp::trainer

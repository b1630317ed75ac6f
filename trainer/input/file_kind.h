// Recognizes kinds of files by their first bytes. `start` are the first bytes of the file at
// `path`. Each error is an InputError (65) that names the kind of the file, and a command, step or
// option that helps.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// Refuses known formats other than text with a table or JSON lines. The error names a command or
// step that makes a CSV file of such a file.
void refuse_binary_kinds(const std::string& path, std::string_view start);

// Returns whether the file begins with the byte order mark of UTF-16.
[[nodiscard]] bool has_utf16_mark(std::string_view start);

// Refuses what is not UTF-8 although that is expected: UTF-16 and UTF-32, with or without a byte
// order mark, and bytes that are not text of another encoding either, because one of them is zero.
void refuse_other_encodings(const std::string& path, std::string_view start);

// Refuses a JSON array of objects: [{"text". No header and hardly any text of a table begins so.
void refuse_json_array(const std::string& path, std::string_view start);

// Returns whether the file begins with a JSON object: {"text" or {}. No header and hardly any text
// of a table begins so.
[[nodiscard]] bool begins_with_object(std::string_view start);

}  // namespace bp::trainer

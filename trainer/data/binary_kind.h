// Recognizes binary and other formats that are no data files for bert_train.
#pragma once

#include <string>
#include <string_view>

namespace bp::trainer {

// Throws InputError (65) if `start`, the first bytes of the file at `path`, are those of a known
// format other than text with a table or JSON lines. The error names the format, and a command or
// step that makes a CSV file of it.
void refuse_binary_kinds(const std::string& path, std::string_view start);

}  // namespace bp::trainer

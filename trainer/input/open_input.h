// Opens a data file for reading.
#pragma once

#include <memory>
#include <string>

#include "trainer/input/byte_input.h"

namespace bp::trainer {

// Returns the content of the file in UTF-8. Recognizes gzip and zstd by the first bytes, whatever
// the file's name is, and unpacks them. `encoding` is what parse_encoding() returns. Throws
// InputError: 66 if the file cannot be read or is not a regular file; 65 if it, or what is packed
// in it, is not text or is text in another encoding than `encoding` (see
// file_kind.h). Never waits for another process.
[[nodiscard]] std::unique_ptr<ByteInput> open_input(const std::string& path,
                                                    const std::string& encoding = {});

// Returns `path` without the suffix of a compressed file: "a.csv" for "a.csv.gz" and "a.csv.zst".
[[nodiscard]] std::string unpacked_name(const std::string& path);

}  // namespace bp::trainer

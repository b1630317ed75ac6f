// The zip container, as PyTorch writes it: entries that are stored, not compressed, listed in a
// central directory at the end of the file, with or without the 64-bit extension. No LibTorch here.
//
// A file is trusted in nothing: every count, length and offset is checked before it is used. What
// PyTorch never writes (compression, encryption, several disks) is refused. Check sums are not
// looked at: torch.save can be told to leave them out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/model/byte_source.h"

namespace bp::trainer {

struct ZipEntry {
  std::string name;
  std::uint64_t offset = 0;  // of its bytes, from the beginning of the file
  std::uint64_t bytes = 0;
};

// The entries in the order of the directory. Throws invalid_argument, saying what is wrong where
// (the text does not name the file), or io.
[[nodiscard]] std::vector<ZipEntry> read_zip_directory(const ByteSource& source);

}  // namespace bp::trainer

// The zip container as PyTorch writes it: stored (not compressed) entries, listed in a central
// directory at the end of the file, with or without the 64-bit extension. Does not use LibTorch.
//
// Every count, length and offset of a file is checked before it is used. Refuses what PyTorch never
// writes (compression, encryption, several disks). Ignores check sums, because torch.save can leave
// them out.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/model/files/byte_source.h"

namespace bp::trainer {

struct ZipEntry {
  std::string name;
  std::uint64_t offset = 0;  // offset of its bytes from the start of the file
  std::uint64_t bytes = 0;
};

// Returns the entries in the order of the directory. Throws invalid_argument, saying what is wrong
// and where (the error does not name the file), or io.
[[nodiscard]] std::vector<ZipEntry> read_zip_directory(const ByteSource& source);

}  // namespace bp::trainer

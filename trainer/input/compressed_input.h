// Unpacks what gzip or zstd has compressed.
#pragma once

#include <memory>

#include "trainer/input/byte_input.h"

namespace bp::trainer {

// Replaces a file by what is packed in it, which its first bytes tell. Returns false if nothing is.
[[nodiscard]] bool unpack(std::unique_ptr<ByteInput>& input);

}  // namespace bp::trainer

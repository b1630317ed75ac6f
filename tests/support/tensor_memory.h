#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "tests/support/bytes_in_memory.h"

namespace bp::test {

// Returns how many bytes of the tensor are in memory, in pages that belong to it alone.
inline std::size_t bytes_in_memory(const at::Tensor& tensor) {
  return bytes_in_memory(tensor.data_ptr(), tensor.nbytes());
}

}  // namespace bp::test

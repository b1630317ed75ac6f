// Tensors that one rank broadcasts to all ranks in one collective.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "bp/communicator.h"
#include "comm/torch/parameter_set.h"

namespace bp {

class PackedTensors {
 public:
  // The tensors must be dense and equal in shape and type on all ranks. They may lie on any device:
  // they travel through host memory. `comm` must outlive this object.
  PackedTensors(Communicator& comm, std::vector<Parameter> tensors);

  // Copies the bytes of the root's tensors to all ranks, and returns the root's `flag`. Collective.
  // Autograd does not see that the tensors change. Throws invalid_argument if a tensor has another
  // size than at construction.
  bool broadcast(int root, bool flag, std::string_view name);

 private:
  Communicator& comm_;
  std::vector<Parameter> tensors_;
  std::vector<std::size_t> sizes_;  // in bytes
  Buffer buffer_;                   // the tensors, then the flag
};

}  // namespace bp

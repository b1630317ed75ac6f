#include <ATen/core/Tensor.h>

#include "bp/torch/collective.h"

namespace bp {

void all_reduce(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options) {
  all_reduce(comm, view_of(tensor), options);
}

void broadcast(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options) {
  broadcast(comm, view_of(tensor), options);
}

}  // namespace bp

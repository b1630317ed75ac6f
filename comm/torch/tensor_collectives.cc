#include <ATen/core/Tensor.h>

#include "bp/error.h"
#include "bp/torch/collective.h"
#include "comm/torch/tensor_view.h"

namespace bp {

at::Tensor own_rows(const Communicator& comm, const at::Tensor& whole) {
  if (!whole.defined() || whole.dim() == 0) {
    throw Error(ErrorCode::invalid_argument,
                "own_rows: the tensor has no rows: give one with at least one dimension");
  }
  const Block mine = block_of(static_cast<std::size_t>(whole.size(0)), comm.size(), comm.rank());
  return whole.narrow(0, static_cast<std::int64_t>(mine.offset),
                      static_cast<std::int64_t>(mine.count));
}

void all_reduce(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options) {
  all_reduce(comm, view_of(tensor), after_work_on(tensor, options));
}

void broadcast(Communicator& comm, at::Tensor& tensor, const CollectiveOptions& options) {
  broadcast(comm, view_of(tensor), after_work_on(tensor, options));
}

}  // namespace bp

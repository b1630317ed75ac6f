#include <ATen/core/Tensor.h>

#include <cstddef>
#include <vector>

#include "base/text.h"
#include "bp/error.h"
#include "bp/torch/collective.h"
#include "comm/torch/owners.h"
#include "comm/torch/part_exchange.h"
#include "comm/torch/shared_room.h"

namespace bp {

void share_constants(Communicator& comm, const std::vector<at::Tensor>& tensors) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const at::Tensor& tensor = tensors[i];
    if (!tensor.defined() || !tensor.is_cpu() || !tensor.is_non_overlapping_and_dense()) {
      throw Error(ErrorCode::invalid_argument,
                  concat("share_constants: tensor ", i, " is not a dense one on the CPU"));
    }
    bytes += SharedRoom::of(tensor, tensor.numel());
  }
  if (comm.size() == 1 || bytes == 0) return;
  Owners owners(comm, memory_topology(comm, at::kCPU), false, {});
  owners.connect();
  SharedRoom room(owners.local(), bytes);
  std::vector<at::Tensor> shared;
  for (const at::Tensor& tensor : tensors) shared.push_back(room.adopt(tensor, comm.rank() == 0));
  broadcast_between_hosts(owners, shared, 0);
}

}  // namespace bp

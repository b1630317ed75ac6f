#include "comm/torch/owners.h"

#include "bp/collective.h"

namespace bp {

void Owners::connect() {
  if (hosts() == 1) return;
  group_.emplace(world_.split(host()));
  leaders_.emplace(world_.split(local_rank() == 0 ? 0 : -1));
}

void Owners::broadcast(std::span<std::byte> bytes, int root) {
  barrier(local(), {.name = "shared memory is written"});
  if (hosts() == 1) return;
  if (Communicator* const comm = leaders()) {
    bp::broadcast(*comm, {bytes.data(), bytes.size(), DataType::u8},
                  {.root = host_of(root), .name = "shared memory"});
  }
  barrier(local(), {.name = "shared memory has arrived"});
}

}  // namespace bp

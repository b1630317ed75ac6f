#include "comm/torch/optimizer_broadcast.h"

#include <ATen/core/Tensor.h>
#include <torch/serialize/archive.h>

#include <cstddef>
#include <string>

#include "bp/collective.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

std::string saved(const torch::optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  std::string bytes;
  archive.save_to([&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
    return size;
  });
  return bytes;
}

// The archive names the device of its writer, which may have another number there.
void load(torch::optim::Optimizer& optimizer, const std::string& bytes, c10::Device device) {
  torch::serialize::InputArchive archive;
  if (device.is_cpu()) {
    archive.load_from(bytes.data(), bytes.size());
  } else {
    archive.load_from(bytes.data(), bytes.size(), device);
  }
  optimizer.state().clear();
  optimizer.load(archive);
}

}  // namespace

void broadcast_tensors(Communicator& comm,
                       const std::vector<Parameter>& parameters,
                       const std::optional<HostShards>& shards,
                       int root) {
  for (const auto& [name, tensor] : parameters) {
    if (shards && shards->has(tensor)) continue;
    // As bytes, so that any element type works, and dense, so that strides do not matter.
    const View bytes = {.data = static_cast<std::byte*>(tensor.mutable_data_ptr()),
                        .count = tensor.nbytes(),
                        .type = DataType::u8,
                        .device = device_of(tensor.device())};
    broadcast(comm, bytes, after_work_on(tensor, {.root = root, .name = name}));
  }
}

void broadcast_state(Communicator& comm,
                     torch::optim::Optimizer& optimizer,
                     c10::Device device,
                     int root) {
  std::string bytes;
  if (comm.rank() == root) {
    bytes = saved(optimizer);
  }
  broadcast_object(comm, bytes, {.root = root, .name = "optimizer state"});
  load(optimizer, bytes, device);
}

}  // namespace bp

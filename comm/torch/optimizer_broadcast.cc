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

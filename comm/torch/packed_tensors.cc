#include "comm/torch/packed_tensors.h"

#include <ATen/ops/from_blob.h>

#include <cstring>
#include <numeric>
#include <utility>

#include "bp/collective.h"
#include "comm/torch/misuse.h"
#include "comm/torch/tensor_view.h"

namespace bp {
namespace {

std::vector<std::size_t> sizes_of(const std::vector<Parameter>& tensors) {
  std::vector<std::size_t> sizes;
  for (const auto& [name, tensor] : tensors) {
    sizes.push_back(tensor.nbytes());
  }
  return sizes;
}

// Returns a tensor like `tensor` over memory of the host.
at::Tensor on_host(const at::Tensor& tensor, std::byte* memory) {
  return at::from_blob(memory, tensor.sizes(), tensor.strides(),
                       at::dtype(tensor.scalar_type()).device(at::kCPU));
}

// Copies the tensor's bytes to the host, or back.
void read(std::byte* host, const at::Tensor& tensor) {
  if (tensor.is_cpu()) {
    std::memcpy(host, tensor.const_data_ptr(), tensor.nbytes());
  } else {
    on_host(tensor, host).copy_(tensor.detach());
  }
}
void write(const at::Tensor& tensor, std::byte* host) {
  if (tensor.is_cpu()) {
    std::memcpy(tensor.mutable_data_ptr(), host, tensor.nbytes());
  } else {
    tensor.detach().copy_(on_host(tensor, host));
  }
}

}  // namespace

PackedTensors::PackedTensors(Communicator& comm, std::vector<Parameter> tensors)
    : comm_(comm),
      tensors_(std::move(tensors)),
      sizes_(sizes_of(tensors_)),
      buffer_(comm.allocate(std::reduce(sizes_.begin(), sizes_.end()) + 1)) {}

bool PackedTensors::broadcast(int root, bool flag, std::string_view name) {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].tensor.nbytes() != sizes_[i]) {
      refuse(tensors_[i].name, " has ", tensors_[i].tensor.nbytes(), " bytes where it had ",
             sizes_[i], " when the optimizer was made: make the optimizer after the change");
    }
  }
  const bool is_root = comm_.rank() == root;
  std::byte* next = buffer_.data();
  if (is_root) {
    for (const auto& [of, tensor] : tensors_) {
      read(next, tensor);
      next += tensor.nbytes();
    }
    *next = std::byte{flag};
  }
  bp::broadcast(comm_, {.data = buffer_.data(), .count = buffer_.bytes(), .type = DataType::u8},
                {.root = root, .name = name});
  if (is_root) {
    return flag;
  }
  for (const auto& [of, tensor] : tensors_) {
    write(tensor, next);
    next += tensor.nbytes();
  }
  return *next != std::byte{0};
}

}  // namespace bp

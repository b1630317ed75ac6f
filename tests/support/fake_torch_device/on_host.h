// Tensors of the fake device as the host's kernels see them while they have a turn on the stream.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Stream.h>

#include "tests/support/fake_torch_device/key.h"
#include "tests/support/fake_torch_device/turn.h"

namespace fake_torch_device {

[[nodiscard]] inline bool is_on_device(const at::Tensor& x) {
  return x.defined() && x.device().type() == kType;
}

// The arguments of an operator. First add() all of them, then begin(), then on_host().
class OnHost {
 public:
  // All tensors must be on one device; throws c10::Error otherwise.
  void add(const at::Tensor& x, bool writes);
  [[nodiscard]] std::optional<c10::Device> device() const { return device_; }

  // Waits for a turn on the current stream of the tensors' device, which ends with this object or
  // at end(). Does nothing if there are no tensors.
  void begin(const std::string& name);
  // Returns the host's tensor over the memory of one that was added. The two must not be used after
  // the turn.
  [[nodiscard]] at::Tensor on_host(const at::Tensor& x) const;
  // Returns the tensor of which this is the host's; an undefined one if there is none.
  [[nodiscard]] at::Tensor original(const at::Tensor& host) const;
  // Returns whether the host's tensor uses memory of one of the device's.
  [[nodiscard]] bool is_view(const at::Tensor& host) const;
  // Gives written tensors the sizes that the operator has given to the host's, and ends the turn.
  void end();

 private:
  struct Pair {
    at::Tensor original;
    bool writes = false;
    at::Tensor host = {};
  };
  std::optional<c10::Device> device_;
  std::vector<Pair> pairs_;
  std::optional<Turn> turn_;
};

// Returns a tensor on the device with the values of the host's, which must not change any more. The
// current stream writes them, and may do so after the return.
[[nodiscard]] at::Tensor to_device(const at::Tensor& host, c10::Device device);

// Returns how many bytes lie between the first and the end of the last element.
[[nodiscard]] std::size_t extent(const at::Tensor& x);

}  // namespace fake_torch_device

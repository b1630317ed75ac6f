// The operations on a device need this of a batch's layout.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include <c10/core/Device.h>

#include "trainer/model/passes/layout.h"

namespace bp::trainer {

// All tensors are i64 and lie on the model's device. "Padded" is the place of a token among the
// samples as rows of layout.longest tokens each.
struct DeviceLayout {
  at::Tensor samples;            // [rows], the ids that determine what dropout drops
  at::Tensor sample_of_token;    // [tokens], the same of each token
  at::Tensor place_of_token;     // [tokens], in its sample
  at::Tensor padded_of_token;    // [tokens]
  at::Tensor position_of_token;  // [tokens], or empty as in the layout
  at::Tensor firsts;             // [rows], the token with which each sample begins
  at::Tensor lengths;            // [rows]
};

// Copies what it needs to the device at once. Every row of tokens must belong to a sample.
[[nodiscard]] std::shared_ptr<const DeviceLayout> make_device_layout(const Layout& layout,
                                                                     c10::Device device);

// Returns the layout of the same samples with only their first tokens, which lies on the device
// already. It has what dropout needs, and not what attention does.
[[nodiscard]] std::shared_ptr<const DeviceLayout> first_tokens(const DeviceLayout& layout);

}  // namespace bp::trainer

// Rotary positions (Su et al. 2021, "RoFormer", arXiv:2104.09864): queries and keys are rotated by
// angles that grow with their places, so that a score depends on how far apart two tokens are.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include <c10/core/Device.h>

#include "trainer/model/passes/functions.h"

namespace bp::trainer {

// Returns the angle by which each pair of a head's numbers grows from place to place: fp32
// [head_size / 2].
[[nodiscard]] at::Tensor rotary_angles(double base, std::int64_t head_size);

// The cosines and sines of the angles at each place: fp32 [places, head_size / 2].
struct Rotation {
  at::Tensor cosines;
  at::Tensor sines;
};
[[nodiscard]] Rotation make_rotation(const at::Tensor& angles,
                                     std::int64_t places,
                                     c10::Device device);

// Returns qkv, [tokens, 3 * hidden], with the queries and keys of each head rotated by the places
// of their tokens.
at::Tensor rotate(const LayoutPtr& layout, const at::Tensor& qkv, const Rotation& rotation);

}  // namespace bp::trainer

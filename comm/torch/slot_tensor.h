// A tensor whose elements lie in the memory of a bucket.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <cstddef>
#include <memory>

#include "bp/types.h"
#include "comm/torch/bucket_layout.h"
#include "comm/torch/tensor_view.h"

namespace bp {

// Returns a tensor in memory that it keeps alive. It is not a view of another tensor, so it has its
// own version counter, which shows changes. It lies on the device of `like`.
inline at::Tensor tensor_in(const std::shared_ptr<std::byte>& memory,
                            DataType type,
                            const Slot& slot,
                            const at::Tensor& like) {
  const auto keep = [memory](void*) {};
  return at::from_blob(memory.get() + slot.offset * size_of(type), like.sizes(), like.strides(),
                       keep, at::dtype(scalar_type_of(type)).device(like.device()), like.device());
}

}  // namespace bp

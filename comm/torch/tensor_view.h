// LibTorch's tensors and types as those of bp.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include <c10/core/ScalarType.h>

#include "bp/types.h"

namespace bp {

// Returns nothing if bp has no such type.
[[nodiscard]] std::optional<DataType> data_type_of(c10::ScalarType type);
[[nodiscard]] c10::ScalarType scalar_type_of(DataType type);

// Returns the sum_of_squares() (gradient_math.h) of all elements. `tensor` must be floating and
// dense, in any order of strides.
[[nodiscard]] double sum_of_squares(const at::Tensor& tensor);

}  // namespace bp

// LibTorch's types in the words of bp.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include <c10/core/ScalarType.h>

#include "bp/types.h"

namespace bp {

// Empty where bp has no such type.
[[nodiscard]] std::optional<DataType> data_type_of(c10::ScalarType type);
[[nodiscard]] c10::ScalarType scalar_type_of(DataType type);

// sum_of_squares() (gradient_math.h) of all elements. `tensor` is floating and dense (any order of
// strides).
[[nodiscard]] double sum_of_squares(const at::Tensor& tensor);

}  // namespace bp

// LibTorch's types in the words of bp.
#pragma once

#include <optional>

#include <c10/core/ScalarType.h>

#include "bp/types.h"

namespace bp {

// Empty where bp has no such type.
[[nodiscard]] std::optional<DataType> data_type_of(c10::ScalarType type);
[[nodiscard]] c10::ScalarType scalar_type_of(DataType type);

}  // namespace bp

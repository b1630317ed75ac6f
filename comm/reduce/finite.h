// Whether floating numbers are numbers.
#pragma once

#include <cstddef>

#include "bp/types.h"

namespace bp {

// Returns whether there is no infinity and no NaN among `count` elements of `type` at `data`, which
// may have any alignment. Elements of other than floating types are always finite.
[[nodiscard]] bool all_finite(DataType type, const std::byte* data, std::size_t count);

}  // namespace bp

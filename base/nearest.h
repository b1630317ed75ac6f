// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp {

// The name with the fewest edits (insert, delete, change, swap neighbours; upper and lower case
// are one) from `wanted`, or "" when none is near enough to have been meant.
[[nodiscard]] std::string nearest_name(std::string_view wanted,
                                       const std::vector<std::string>& names);

}  // namespace bp

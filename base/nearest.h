// "Did you mean ...?"
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bp {

// Returns the name that the fewest edits make of `wanted`: insert, delete or change a character, or
// swap two neighbours. Upper and lower case count as the same. Returns "" if even that name needs
// more edits than a third of the characters of `wanted` (one edit is always allowed). Names of more
// than 100 bytes are never near.
[[nodiscard]] std::string nearest_name(std::string_view wanted,
                                       const std::vector<std::string>& names);

}  // namespace bp
